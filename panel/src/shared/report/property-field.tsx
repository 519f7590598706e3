import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ComboBox } from '../ui/combo-box.tsx';
import { eventsQuery } from './schema.ts';

/** The key of a property, completed from those of an event. */
export function PropertyField({
  label,
  event,
  value,
  onChange,
}: {
  label: ReactNode;
  event: string;
  value: string;
  onChange: (property: string) => void;
}) {
  const { data } = useQuery(eventsQuery);
  const keys = data?.events.find(({ name }) => name === event)?.prop_keys ?? [];
  return (
    <ComboBox {...{ label, value, onChange }} suggestions={keys.map((key) => ({ value: key }))} />
  );
}
