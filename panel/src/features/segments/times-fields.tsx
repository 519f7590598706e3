import { useLingui } from '@lingui/react/macro';
import type { Operator } from '../../../../audiences/conditions/condition.ts';
import { numberIn } from '../../shared/report/condition.ts';
import { useOperatorNames } from '../../shared/report/operator-names.ts';
import { SelectField, TextField } from '../../shared/ui/field.tsx';
import type { Times } from './definition.ts';

const OPERATORS = ['gte', 'lte', 'eq', 'neq', 'gt', 'lt', 'between'] as const;

/** How often an event is to have happened: every comparison of the audience language. */
export function TimesFields({
  times: { op, value },
  onChange,
}: {
  times: Times;
  onChange: (times: Times) => void;
}) {
  const { t } = useLingui();
  const names = useOperatorNames();
  const [low, high] = typeof value === 'number' ? [value, value] : value;
  const field = (label: string, known: number, change: (number: number) => void) => (
    <TextField
      // Its text is the member's own until another comparison is chosen.
      key={`${op} ${label}`}
      label={label}
      inputMode="numeric"
      dir="ltr"
      defaultValue={String(known)}
      onChange={({ target }) => {
        const number = numberIn(target.value);
        if (number !== undefined && number >= 0) change(Math.floor(number));
      }}
    />
  );
  return (
    <>
      <SelectField
        label={t`تعداد`}
        value={op}
        choices={OPERATORS.map((one) => ({ value: one, label: names[one] }))}
        onChange={(next: Operator) =>
          onChange({ op: next, value: next === 'between' ? [low, high] : low })
        }
      />
      {op === 'between' ? (
        <>
          {field(t`از چند بار`, low, (number) => onChange({ op, value: [number, high] }))}
          {field(t`تا چند بار`, high, (number) => onChange({ op, value: [low, number] }))}
        </>
      ) : (
        field(t`چند بار`, low, (number) => onChange({ op, value: number }))
      )}
    </>
  );
}
