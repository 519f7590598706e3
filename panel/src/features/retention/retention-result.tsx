import { Trans, useLingui } from '@lingui/react/macro';
import { TimeChart } from '../../shared/chart/time-chart.tsx';
import { useFormat } from '../../shared/format/use-format.ts';
import type { CsvTable } from '../../shared/report/csv.ts';
import type { ReportMeta } from '../../shared/report/meta.tsx';
import { PeopleLink } from '../../shared/report/people-link.tsx';
import { Empty } from '../../shared/ui/states.tsx';
import styles from './retention-result.module.css';

interface Cohort {
  /** First day, YYYY-MM-DD of the calendar. */
  start: string;
  size: number;
  returned: number[];
  incomplete_from?: number;
}

/** The answer of POST /v1/reports/retention. */
export interface RetentionAnswer {
  cohorts: Cohort[];
  meta: ReportMeta;
}

export function RetentionResult({
  answer,
  request,
  period,
}: {
  answer: RetentionAnswer;
  request: object;
  period: 'day' | 'week' | 'month';
}) {
  const { t } = useLingui();
  const { percent, count } = useFormat();
  const { cohorts } = answer;
  if (cohorts.every(({ size }) => size === 0))
    return (
      <Empty title={<Trans>در این بازه هیچ‌کس رویداد آغاز را انجام نداده است</Trans>}>
        <Trans>بازهٔ بلندتری انتخاب کنید، یا رویداد دیگری.</Trans>
      </Empty>
    );
  const curve = curveOf(cohorts);
  const names = { day: t`روز`, week: t`هفته`, month: t`ماه` };
  return (
    <div className={styles['result']}>
      <TimeChart
        label={t`سهم کسانی که بازگشته‌اند، پس از هر دوره`}
        unit={names[period]}
        labels={curve.map((_, at) => count(at))}
        series={[{ key: 'share', label: t`بازگشته‌اند`, values: curve }]}
        format={percent}
        height={200}
      />
      <Triangle {...{ cohorts, request }} name={names[period]} />
    </div>
  );
}

function Triangle({
  cohorts,
  request,
  name,
}: {
  cohorts: readonly Cohort[];
  request: object;
  name: string;
}) {
  const { t } = useLingui();
  const { count, digits } = useFormat();
  // Nobody had started yet: such rows say nothing.
  const first = cohorts.findIndex(({ size }) => size > 0);
  const columns = Math.max(0, ...cohorts.slice(first).map(({ returned }) => returned.length));
  return (
    <div className={styles['scroll']} role="group" aria-label={t`مثلث بازگشت`} tabIndex={0}>
      <table className={styles['table']}>
        <thead>
          <tr>
            <th scope="col">
              <Trans>آغاز از</Trans>
            </th>
            <th scope="col">
              <Trans>اشخاص</Trans>
            </th>
            {Array.from({ length: columns }, (_, at) => (
              <th key={at} scope="col">
                {name} {count(at)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cohorts.map((cohort, row) =>
            row < first ? null : (
              <tr key={cohort.start}>
                <th scope="row">{digits(cohort.start.replaceAll('-', '/'))}</th>
                <td>
                  <PeopleLink
                    definition={{ retention: request, cohort: row }}
                    label={count(cohort.size)}
                  />
                </td>
                {cohort.returned.map((returned, at) => (
                  <Cell key={at} {...{ cohort, returned, at, row, request }} />
                ))}
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

function Cell({
  cohort,
  returned,
  at,
  row,
  request,
}: {
  cohort: Cohort;
  returned: number;
  at: number;
  row: number;
  request: object;
}) {
  const { t } = useLingui();
  const { count, percent } = useFormat();
  if (cohort.size === 0) return <td className={styles['none']}>–</td>;
  const share = returned / cohort.size;
  const isIncomplete = cohort.incomplete_from !== undefined && at >= cohort.incomplete_from;
  const level = Math.min(5, Math.ceil(share * 5));
  return (
    <td
      className={`${styles[`level${level}`]} ${isIncomplete ? styles['incomplete'] : ''}`}
      title={isIncomplete ? t`این دوره هنوز به پایان نرسیده است` : t`${count(returned)} نفر`}
    >
      <PeopleLink
        definition={{ retention: request, cohort: row, period: at }}
        label={percent(share)}
      />
    </td>
  );
}

/** The share of all cohorts that had a whole period so long after their start. */
function curveOf(all: readonly Cohort[]): (number | null)[] {
  const cohorts = all.filter(({ size }) => size > 0);
  const columns = Math.max(0, ...cohorts.map(({ returned }) => returned.length));
  return Array.from({ length: columns }, (_, at) => {
    const whole = cohorts.filter(
      ({ returned, incomplete_from = returned.length }) => at < incomplete_from,
    );
    const size = whole.reduce((sum, one) => sum + one.size, 0);
    const back = whole.reduce((sum, { returned }) => sum + (returned[at] ?? 0), 0);
    return size === 0 ? null : back / size;
  });
}

export function retentionCsv({ cohorts }: RetentionAnswer): CsvTable {
  return {
    header: ['start', 'size', 'period', 'returned', 'incomplete'],
    rows: cohorts.flatMap(({ start, size, returned, incomplete_from = Infinity }) =>
      returned.map((back, at) => [start, size, at, back, at >= incomplete_from ? 1 : 0]),
    ),
  };
}
