import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useFormat } from '../format/use-format.ts';
import { ComboBox } from '../ui/combo-box.tsx';
import { eventsQuery } from './schema.ts';

/** The name of an event, completed from those of the last 90 days, most frequent first. */
export function EventField({
  value,
  onChange,
  ...field
}: {
  label: ReactNode;
  hint?: ReactNode;
  isLabelHidden?: boolean;
  placeholder?: string;
  value: string;
  onChange: (event: string) => void;
}) {
  const { count } = useFormat();
  const { data } = useQuery(eventsQuery);
  const suggestions = (data?.events ?? []).map(({ name, volume }) => ({
    value: name,
    note: count(volume),
  }));
  return <ComboBox {...field} {...{ value, onChange, suggestions }} />;
}
