import { Trans, useLingui } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import { EventField } from '../../shared/report/event-field.tsx';
import { PropertyFilterList } from '../../shared/report/filter-list.tsx';
import { SelectField } from '../../shared/ui/field.tsx';
import { isOnce, ONCE, type EventNode, type Node } from './definition.ts';
import { TimesFields } from './times-fields.tsx';
import styles from './segments.module.css';

const DAYS = [1, 7, 14, 30, 60, 90, 180, 365] as const;

/** What people did or did not do, how often, and since when. */
export function EventFields({
  node,
  onChange,
}: {
  node: EventNode;
  onChange: (node: Node) => void;
}) {
  const { t } = useLingui();
  const { count } = useFormat();
  const { event, did, times, within_days, where = [] } = node;
  const set = (part: Partial<EventNode>, without?: keyof EventNode) => {
    const changed = Object.entries({ ...node, ...part }).filter(([name]) => name !== without);
    onChange(Object.fromEntries(changed));
  };
  const days =
    within_days === undefined || DAYS.some((one) => one === within_days)
      ? DAYS
      : [within_days, ...DAYS];
  return (
    <div className={styles['fields']}>
      <SelectField
        label={t`انجام`}
        value={did ? 'did' : 'not'}
        choices={[
          { value: 'did', label: t`انجام داده‌اند` },
          { value: 'not', label: t`انجام نداده‌اند` },
        ]}
        onChange={(next) => set({ did: next === 'did' })}
      />
      <EventField label={t`رویداد`} value={event} onChange={(next) => set({ event: next })} />
      <SelectField
        label={t`در`}
        value={String(within_days ?? 'ever')}
        choices={[
          ...days.map((one) => ({ value: String(one), label: t`${count(one)} روز گذشته` })),
          { value: 'ever', label: t`همیشه` },
        ]}
        onChange={(next) =>
          next === 'ever' ? set({}, 'within_days') : set({ within_days: Number(next) })
        }
      />
      <TimesFields
        times={times ?? ONCE}
        onChange={(next) => (isOnce(next) ? set({}, 'times') : set({ times: next }))}
      />
      {event === '' ? null : (
        <div className={styles['wide']}>
          <p className={styles['quiet']}>
            <Trans>تنها رویدادهایی که</Trans>
          </p>
          <PropertyFilterList
            filters={where}
            event={event}
            onChange={(next) => (next.length === 0 ? set({}, 'where') : set({ where: next }))}
          />
        </div>
      )}
    </div>
  );
}
