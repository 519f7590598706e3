import { useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ComboBox, type Suggestion } from '../ui/combo-box.tsx';
import { SelectField } from '../ui/field.tsx';
import type { TargetText } from './condition.ts';
import { FIELDS } from './fields.ts';
import { eventsQuery, traitsQuery } from './schema.ts';
import styles from './target-field.module.css';

const KINDS = ['property', 'trait', 'field'] as const;

/** A property, stored column or trait: its kind, and its name completed as one types. */
export function TargetField({
  label,
  value,
  event,
  onChange,
  isOptional = false,
}: {
  label: ReactNode;
  value: TargetText;
  /** Whose properties are suggested; undefined: of all events. */
  event?: string | undefined;
  onChange: (target: TargetText) => void;
  isOptional?: boolean;
}) {
  const { t } = useLingui();
  const { kind, name } = value;
  const suggestions = useSuggestions(kind, event);
  const kinds = { property: t`ویژگی رویداد`, trait: t`ویژگی شخص`, field: t`ستون رویداد` };
  return (
    <div className={styles['pair']}>
      <SelectField
        label={label}
        value={kind}
        choices={KINDS.map((one) => ({ value: one, label: kinds[one] }))}
        onChange={(next) => onChange({ kind: next, name: '' })}
      />
      <ComboBox
        label={t`نام`}
        value={name}
        suggestions={suggestions}
        placeholder={isOptional ? t`هیچ‌کدام` : ''}
        onChange={(next) => onChange({ kind, name: next })}
      />
    </div>
  );
}

function useSuggestions(kind: TargetText['kind'], event: string | undefined): Suggestion[] {
  const events = useQuery({ ...eventsQuery, enabled: kind === 'property' }).data?.events ?? [];
  const traits = useQuery({ ...traitsQuery, enabled: kind === 'trait' }).data?.schema ?? [];
  switch (kind) {
    case 'field':
      return FIELDS.map((value) => ({ value }));
    case 'trait':
      return traits.map(({ name }) => ({ value: name }));
    case 'property': {
      const named = events.filter(({ name }) => !event || name === event);
      const keys = new Set(
        (named.length > 0 ? named : events).flatMap((one) => one.prop_keys ?? []),
      );
      return [...keys].map((value) => ({ value }));
    }
  }
}
