import { Trans, useLingui } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import { EventField } from '../../shared/report/event-field.tsx';
import { FilterList } from '../../shared/report/filter-list.tsx';
import { RangeField } from '../../shared/report/range-field.tsx';
import { TargetField } from '../../shared/report/target-field.tsx';
import { Button } from '../../shared/ui/button.tsx';
import { SelectField } from '../../shared/ui/field.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import type { SelectorText } from '../../shared/report/condition.ts';
import { MAX_STEPS, ORDERS, WINDOWS, type FunnelSearch } from './search.ts';
import styles from './funnel-form.module.css';

interface Props {
  search: FunnelSearch;
  onChange: (search: FunnelSearch) => void;
}

export function FunnelForm({ search, onChange }: Props) {
  const { t } = useLingui();
  const { duration } = useFormat();
  const { steps, range, order, window, exclude, filters, breakdown } = search;
  const orders = {
    ordered: t`به همین ترتیب`,
    strict: t`پشت‌سرهم، بی‌فاصله`,
    any: t`به هر ترتیبی`,
  };
  const windows = WINDOWS.some((one) => one === window) ? WINDOWS : [window, ...WINDOWS];
  return (
    <div className={styles['form']}>
      <StepList steps={steps} onChange={(next) => onChange({ ...search, steps: next })} />
      <div className={styles['pair']}>
        <RangeField value={range} onChange={(next) => onChange({ ...search, range: next })} />
        <SelectField
          label={<Trans>مهلت از گام نخست تا آخر</Trans>}
          value={String(window)}
          choices={windows.map((one) => ({ value: String(one), label: duration(one) }))}
          onChange={(next) => onChange({ ...search, window: Number(next) })}
        />
      </div>
      <SelectField
        label={<Trans>ترتیب گام‌ها</Trans>}
        value={order}
        choices={ORDERS.map((value) => ({ value, label: orders[value] }))}
        onChange={(next) => onChange({ ...search, order: next })}
      />
      <TargetField
        label={<Trans>تفکیک بر اساس</Trans>}
        value={breakdown ?? { kind: 'property', name: '' }}
        {...(steps[0]?.event ? { event: steps[0].event } : {})}
        isOptional
        onChange={(next) => onChange({ ...search, breakdown: next })}
      />
      <details className={styles['more']} open={filters.length + exclude.length > 0}>
        <summary>
          <Trans>شرط‌ها و رویدادهای ناخواسته</Trans>
        </summary>
        <div className={styles['form']}>
          <h3>
            <Trans>شرط برای همهٔ رویدادها</Trans>
          </h3>
          <FilterList
            filters={filters}
            onChange={(next) => onChange({ ...search, filters: next })}
          />
          {order === 'any' ? null : (
            <Exclusions
              exclude={exclude}
              onChange={(next) => onChange({ ...search, exclude: next })}
            />
          )}
        </div>
      </details>
    </div>
  );
}

function StepList({
  steps,
  onChange,
}: {
  steps: readonly SelectorText[];
  onChange: (steps: SelectorText[]) => void;
}) {
  const { t } = useLingui();
  const { count } = useFormat();
  const replace = (at: number, step: SelectorText) =>
    onChange(steps.map((one, index) => (index === at ? step : one)));
  const swap = (at: number, other: number) =>
    onChange(
      steps.map((one, index) => {
        const from = index === at ? other : index === other ? at : index;
        return steps[from] ?? one;
      }),
    );
  return (
    <ol className={styles['steps']}>
      {steps.map((step, at) => (
        <li key={at} className={styles['step']}>
          <div className={styles['stepHead']}>
            <EventField
              label={t`گام ${count(at + 1)}`}
              placeholder={t`نام رویداد`}
              value={step.event}
              onChange={(event) => replace(at, { ...step, event })}
            />
            <div className={styles['buttons']}>
              <Button
                kind="icon"
                aria-label={t`گام ${count(at + 1)} بالاتر`}
                disabled={at === 0}
                onClick={() => swap(at, at - 1)}
              >
                <Icon name="up" />
              </Button>
              <Button
                kind="icon"
                aria-label={t`گام ${count(at + 1)} پایین‌تر`}
                disabled={at === steps.length - 1}
                onClick={() => swap(at, at + 1)}
              >
                <Icon name="down" />
              </Button>
              <Button
                kind="icon"
                aria-label={t`حذف گام ${count(at + 1)}`}
                disabled={steps.length <= 2}
                onClick={() => onChange(steps.filter((_, index) => index !== at))}
              >
                <Icon name="close" />
              </Button>
            </div>
          </div>
          {step.event === '' ? null : (
            <FilterList
              filters={step.filters ?? []}
              event={step.event}
              onChange={(filters) => replace(at, { event: step.event, filters })}
            />
          )}
        </li>
      ))}
      {steps.length < MAX_STEPS ? (
        <li className={styles['add']}>
          <Button onClick={() => onChange([...steps, { event: '' }])}>
            <Icon name="plus" />
            <Trans>افزودن گام</Trans>
          </Button>
        </li>
      ) : null}
    </ol>
  );
}

function Exclusions({
  exclude,
  onChange,
}: {
  exclude: readonly SelectorText[];
  onChange: (exclude: SelectorText[]) => void;
}) {
  const { t } = useLingui();
  return (
    <>
      <h3>
        <Trans>رویدادهایی که نباید میان گام‌ها باشند</Trans>
      </h3>
      {exclude.map((one, at) => (
        <div key={at} className={styles['stepHead']}>
          <EventField
            label={t`رویداد ناخواسته`}
            value={one.event}
            onChange={(event) =>
              onChange(exclude.map((other, index) => (index === at ? { ...other, event } : other)))
            }
          />
          <Button
            kind="icon"
            aria-label={t`حذف رویداد ناخواسته`}
            onClick={() => onChange(exclude.filter((_, index) => index !== at))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <div>
        <Button kind="quiet" onClick={() => onChange([...exclude, { event: '' }])}>
          <Icon name="plus" />
          <Trans>افزودن رویداد ناخواسته</Trans>
        </Button>
      </div>
    </>
  );
}
