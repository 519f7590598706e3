import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Button } from '../ui/button.tsx';
import { ComboBox } from '../ui/combo-box.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import {
  arity,
  isNumeric,
  numberIn,
  OPERATOR_NAMES,
  targetOf,
  type FilterText,
} from './condition.ts';
import { useOperatorNames } from './operator-names.ts';
import { PropertyField } from './property-field.tsx';
import { valuesQuery } from './schema.ts';
import { TargetField } from './target-field.tsx';
import styles from './filter-list.module.css';

interface Props {
  filters: readonly FilterText[];
  /** Whose properties and values are suggested. */
  event?: string;
  onChange: (filters: FilterText[]) => void;
}

/** Conditions that all hold. */
export function FilterList(props: Props) {
  return <Filters {...props} isPropertyOnly={false} />;
}

/** Conditions on properties, as events of an audience have them. */
export function PropertyFilterList(props: Props) {
  return <Filters {...props} isPropertyOnly />;
}

function Filters({
  filters,
  event,
  isPropertyOnly,
  onChange,
}: Props & { isPropertyOnly: boolean }) {
  const change = (at: number, filter: FilterText | undefined) =>
    onChange(filters.flatMap((one, index) => (index === at ? (filter ? [filter] : []) : [one])));
  return (
    <div className={styles['list']}>
      {filters.map((filter, at) => (
        <FilterRow
          key={at}
          {...{ filter, event, isPropertyOnly }}
          onChange={(next) => change(at, next)}
          onRemove={() => change(at, undefined)}
        />
      ))}
      <Button kind="quiet" onClick={() => onChange([...filters, { property: '', op: 'eq' }])}>
        <Icon name="plus" />
        <Trans>افزودن شرط</Trans>
      </Button>
    </div>
  );
}

interface RowProps {
  filter: FilterText;
  isPropertyOnly: boolean;
  event: string | undefined;
  onChange: (filter: FilterText) => void;
  onRemove: () => void;
}

function FilterRow({ filter, event, isPropertyOnly, onChange, onRemove }: RowProps) {
  const { t } = useLingui();
  const names = useOperatorNames();
  const target = targetOf(filter);
  const { op, value } = filter;
  const named = { [target.kind]: target.name };
  return (
    <div className={styles['row']} role="group" aria-label={t`شرط`}>
      {isPropertyOnly ? (
        <PropertyField
          label={t`ویژگی رویداد`}
          event={event ?? ''}
          value={target.name}
          onChange={(property) =>
            onChange({ property, op, ...(value === undefined ? {} : { value }) })
          }
        />
      ) : (
        <TargetField
          label={t`شرط روی`}
          value={target}
          event={event}
          onChange={({ kind, name }) =>
            onChange({ [kind]: name, op, ...(value === undefined ? {} : { value }) })
          }
        />
      )}
      <SelectField
        label={t`مقایسه`}
        value={op}
        choices={OPERATOR_NAMES.map((name) => ({ value: name, label: names[name] }))}
        onChange={(next) =>
          onChange({
            ...named,
            op: next,
            ...(arity(next) === arity(op) &&
            isNumeric(next) === isNumeric(op) &&
            value !== undefined
              ? { value }
              : {}),
          })
        }
      />
      <ValueField filter={filter} event={event} onChange={onChange} />
      <Button kind="icon" aria-label={t`حذف شرط`} onClick={onRemove}>
        <Icon name="close" />
      </Button>
    </div>
  );
}

function ValueField({ filter, event, onChange }: Omit<RowProps, 'onRemove' | 'isPropertyOnly'>) {
  const { t } = useLingui();
  const target = targetOf(filter);
  const { op, value } = filter;
  const { data } = useQuery(valuesQuery(target, event));
  const suggestions = (data?.values ?? []).map((one) => ({ value: one.value }));
  const set = (next: NonNullable<FilterText['value']>) =>
    onChange({ [target.kind]: target.name, op, value: next });
  switch (arity(op)) {
    case 'none':
      return <span />;
    case 'two': {
      const [low, high] = Array.isArray(value) ? value : [];
      return (
        <div className={styles['pair']}>
          <NumberField label={t`از`} value={low} onChange={(one) => set([one, high ?? one])} />
          <NumberField label={t`تا`} value={high} onChange={(one) => set([low ?? one, one])} />
        </div>
      );
    }
    case 'list':
      return (
        <ComboBox
          label={t`مقدارها، جدا با ویرگول`}
          value={Array.isArray(value) ? value.join('، ') : ''}
          suggestions={suggestions}
          onChange={(text) => set(text.split(/\s*[،,]\s*/).filter((one) => one !== ''))}
        />
      );
    case 'one':
      return isNumeric(op) ? (
        <NumberField label={t`مقدار`} value={value} onChange={set} />
      ) : (
        <ComboBox
          label={t`مقدار`}
          value={value === undefined || Array.isArray(value) ? '' : String(value)}
          suggestions={suggestions}
          onChange={set}
        />
      );
  }
}

function NumberField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: unknown;
  onChange: (value: number) => void;
}) {
  return (
    <TextField
      label={label}
      inputMode="decimal"
      dir="ltr"
      defaultValue={typeof value === 'number' ? String(value) : ''}
      onChange={(event) => {
        const number = numberIn(event.target.value);
        if (number !== undefined) onChange(number);
      }}
    />
  );
}
