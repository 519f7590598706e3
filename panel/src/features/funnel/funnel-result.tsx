import { Trans, useLingui } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import { PeopleLink } from '../../shared/report/people-link.tsx';
import { Figure, Figures } from '../../shared/ui/figure.tsx';
import { Empty } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import type { FunnelAnswer, FunnelStep } from './answer.ts';
import styles from './funnel-result.module.css';

export function FunnelResult({ answer, request }: { answer: FunnelAnswer; request: object }) {
  const { percent, count, duration } = useFormat();
  const { steps, breakdown } = answer;
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || first.count === 0)
    return (
      <Empty title={<Trans>در این بازه هیچ‌کس گام نخست را انجام نداده است</Trans>}>
        <Trans>بازهٔ بلندتری انتخاب کنید، یا نام رویداد و شرط‌های گام نخست را بررسی کنید.</Trans>
      </Empty>
    );
  const wait = steps.reduce((sum, one) => sum + (one.median_seconds_from_previous ?? 0), 0);
  return (
    <div className={styles['result']}>
      <Figures>
        <Figure
          label={<Trans>نرخ تبدیل</Trans>}
          value={percent(last?.conversion_from_first ?? 0)}
        />
        <Figure label={<Trans>از گام نخست</Trans>} value={count(first.count)} />
        <Figure label={<Trans>به گام آخر</Trans>} value={count(last?.count ?? 0)} />
        <Figure
          label={<Trans>مجموع میانه‌های زمان</Trans>}
          value={wait > 0 ? duration(wait) : '–'}
        />
      </Figures>
      <ol className={styles['steps']}>
        {steps.map((step, at) => (
          <Step key={at} {...{ step, at, request }} first={first} previous={steps[at - 1]} />
        ))}
      </ol>
      {breakdown ? <Breakdown breakdown={breakdown} steps={steps} /> : null}
    </div>
  );
}

interface StepProps {
  step: FunnelStep;
  at: number;
  first: FunnelStep;
  previous: FunnelStep | undefined;
  request: object;
}

function Step({ step, at, first, previous, request }: StepProps) {
  const { count, percent, duration } = useFormat();
  const share = first.count === 0 ? 0 : step.count / first.count;
  const lost = previous ? previous.count - step.count : 0;
  const median = step.median_seconds_from_previous;
  return (
    <li className={styles['step']}>
      <div className={styles['line']}>
        <span className={styles['name']}>
          <span className={styles['number']}>{count(at + 1)}</span>
          <bdi>{step.event}</bdi>
        </span>
        <PeopleLink
          definition={{ funnel: request, step: at + 1 }}
          label={<Trans>{count(step.count)} نفر</Trans>}
        />
      </div>
      <div className={styles['track']} aria-hidden="true">
        <div className={styles['fill']} style={{ inlineSize: `${share * 100}%` }} />
      </div>
      <div className={styles['facts']}>
        <span>
          <Trans>{percent(share)} از گام نخست</Trans>
        </span>
        {previous ? (
          <>
            <span>
              <Trans>{percent(step.conversion_from_previous ?? 0)} از گام پیش</Trans>
            </span>
            {median === null ? null : (
              <span>
                <Trans>میانهٔ زمان: {duration(median)}</Trans>
              </span>
            )}
            {lost > 0 ? (
              <span className={styles['lost']}>
                <PeopleLink
                  definition={{ funnel: request, step: at + 1, lost: true }}
                  label={<Trans>ریزش: {count(lost)} نفر</Trans>}
                />
              </span>
            ) : null}
          </>
        ) : null}
      </div>
    </li>
  );
}

function Breakdown({
  breakdown,
  steps,
}: {
  breakdown: NonNullable<FunnelAnswer['breakdown']>;
  steps: readonly FunnelStep[];
}) {
  const { t } = useLingui();
  const { count, percent } = useFormat();
  return (
    <Table
      label={t`تفکیک`}
      rows={breakdown}
      rowKey={({ value, other }) => (other ? ' other' : (value ?? ' none'))}
      columns={[
        {
          key: 'value',
          header: <Trans>مقدار</Trans>,
          isRowHeader: true,
          cell: ({ value, other }) =>
            other ? (
              <Trans>دیگر مقدارها</Trans>
            ) : value === null ? (
              <Trans>بدون مقدار</Trans>
            ) : (
              <bdi>{value}</bdi>
            ),
        },
        ...steps.map((step, at) => ({
          key: String(at),
          header: <bdi>{step.event}</bdi>,
          isNumber: true,
          cell: (row: (typeof breakdown)[number]) => count(row.steps[at]?.count ?? 0),
        })),
        {
          key: 'conversion',
          header: <Trans>نرخ تبدیل</Trans>,
          isNumber: true,
          cell: (row) => percent(row.steps.at(-1)?.conversion_from_first ?? 0),
        },
      ]}
    />
  );
}
