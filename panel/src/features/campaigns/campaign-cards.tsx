import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Figure, Figures } from '../../shared/ui/figure.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import type { Campaign, Stats, Uplift } from './queries.ts';
import styles from './campaigns.module.css';

/** Where every planned message is. */
export function BalanceCard({ stats }: { stats: Stats }) {
  const { planned, sent, failed, withheld, skipped, in_flight } = stats;
  const isBalanced = planned === sent + failed + withheld + skipped + in_flight;
  return (
    <Card
      title={<Trans>تراز پیام‌ها</Trans>}
      actions={
        isBalanced ? (
          <Tag tone="success">
            <Trans>تراز است</Trans>
          </Tag>
        ) : (
          <Tag tone="danger">
            <Trans>تراز نیست</Trans>
          </Tag>
        )
      }
    >
      <dl className={styles['list']}>
        <Line label={<Trans>برنامه‌ریزی‌شده</Trans>} value={planned} kind="sum" />
        <Line label={<Trans>فرستاده‌شده</Trans>} value={sent} />
        <Line label={<Trans>ناموفق</Trans>} value={failed} />
        <Reasons reasons={stats.failed_by_reason} />
        <Line label={<Trans>گروه کنترل</Trans>} value={withheld} />
        <Line label={<Trans>کنار گذاشته</Trans>} value={skipped} />
        <Reasons reasons={stats.skipped_by_reason} />
        <Line label={<Trans>در راه</Trans>} value={in_flight} />
      </dl>
    </Card>
  );
}

function Line({ label, value, kind }: { label: ReactNode; value: number; kind?: 'sum' | 'part' }) {
  const { count } = useFormat();
  return (
    <div className={kind ? styles[kind] : undefined}>
      <dt>{label}</dt>
      <dd>{count(value)}</dd>
    </div>
  );
}

function Reasons({ reasons }: { reasons: Readonly<Record<string, number>> }) {
  return Object.entries(reasons).map(([reason, value]) => (
    <Line key={reason} label={<bdi>{reason}</bdi>} value={value} kind="part" />
  ));
}

/** What the messages caused, and whether the control group shows it. */
export function ResultCard({ stats, goal }: { stats: Stats; goal: Campaign['goal'] }) {
  const { count, decimal, percent } = useFormat();
  const { opened, clicked, converted, revenue, sent, uplift } = stats;
  const share = (value: number) => (sent === 0 ? undefined : percent(value / sent));
  return (
    <Card
      title={<Trans>نتیجه</Trans>}
      note={
        goal ? (
          <Trans>
            هدف: <bdi>{goal.event}</bdi> تا {count(goal.window_hours)} ساعت
          </Trans>
        ) : undefined
      }
    >
      <Figures>
        <Figure label={<Trans>باز کرده‌اند</Trans>} value={count(opened)} note={share(opened)} />
        <Figure label={<Trans>کلیک کرده‌اند</Trans>} value={count(clicked)} note={share(clicked)} />
        <Figure
          label={<Trans>به هدف رسیده‌اند</Trans>}
          value={count(converted)}
          note={share(converted)}
        />
        <Figure label={<Trans>درآمد</Trans>} value={decimal(revenue)} />
      </Figures>
      {uplift ? <UpliftLine uplift={uplift} /> : null}
    </Card>
  );
}

function UpliftLine({ uplift }: { uplift: Uplift }) {
  const { percent } = useFormat();
  const { treated_rate, control_rate, difference, low, high, significant } = uplift;
  return (
    <p>
      <Trans>
        اثر: {percent(difference)} (بین {percent(low)} و {percent(high)})؛ با پیام{' '}
        {percent(treated_rate)}، بی پیام {percent(control_rate)}.
      </Trans>{' '}
      {significant ? (
        <Trans>این تفاوت معنادار است.</Trans>
      ) : (
        <Trans>این تفاوت هنوز معنادار نیست.</Trans>
      )}
    </p>
  );
}
