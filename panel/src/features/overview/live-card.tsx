import { Trans, useLingui } from '@lingui/react/macro';
import { TimeChart } from '../../shared/chart/time-chart.tsx';
import { useFormat } from '../../shared/format/use-format.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Figure, Figures } from '../../shared/ui/figure.tsx';
import type { Overview } from './queries.ts';

const MINUTE = 60_000;
const MINUTES = 60;
/** A report that is behind by more, s, is stale. */
const STALE_SECONDS = 120;

/** Events a minute of the last hour, the numbers of today, and how fresh reports are. */
export function LiveCard({ overview }: { overview: Overview }) {
  const { t } = useLingui();
  const { count, time, dateTime, duration } = useFormat();
  const { today, month } = overview;
  const now = Date.parse(overview.now);
  const first = Math.floor(now / MINUTE) * MINUTE - (MINUTES - 1) * MINUTE;
  const byMinute = new Map(
    overview.minutes.map(({ minute, accepted }) => [Date.parse(minute), accepted]),
  );
  const instants = Array.from({ length: MINUTES }, (_, at) => first + at * MINUTE);
  const values = instants.map((instant) => byMinute.get(instant) ?? 0);
  const lag =
    overview.fresh_until === null ? undefined : (now - Date.parse(overview.fresh_until)) / 1000;
  return (
    <Card
      title={<Trans>رویدادها در دقیقه</Trans>}
      note={<Trans>یک ساعت گذشته · هر ۵ ثانیه تازه می‌شود</Trans>}
    >
      <Figures>
        <Figure label={<Trans>این دقیقه</Trans>} value={count(values.at(-1) ?? 0)} />
        <Figure label={<Trans>امروز</Trans>} value={count(today.accepted)} />
        <Figure
          label={<Trans>رد شده، امروز</Trans>}
          value={count(today.rejected)}
          {...(today.rejected > 0 ? { tone: 'warning' as const } : {})}
        />
        {month.profiles_counted_at === null ? (
          <Figure label={<Trans>اشخاص این ماه</Trans>} value={<Trans>هنوز شمرده نشده</Trans>} />
        ) : (
          <Figure
            label={<Trans>اشخاص این ماه</Trans>}
            value={count(month.profiles)}
            note={<Trans>شمارش {dateTime(Date.parse(month.profiles_counted_at))}</Trans>}
          />
        )}
        <Figure
          label={<Trans>تازگی گزارش‌ها</Trans>}
          value={
            lag === undefined ? (
              <Trans>نامعلوم</Trans>
            ) : lag < 10 ? (
              <Trans>به‌روز</Trans>
            ) : (
              <Trans>{duration(lag)} عقب</Trans>
            )
          }
          {...(lag === undefined || lag > STALE_SECONDS
            ? { tone: 'warning' as const }
            : { tone: 'success' as const })}
        />
      </Figures>
      <TimeChart
        kind="bars"
        label={t`رویدادها در هر دقیقهٔ یک ساعت گذشته`}
        unit={<Trans>دقیقه</Trans>}
        labels={instants.map((instant) => time(instant))}
        series={[{ key: 'accepted', label: t`رویدادها`, values }]}
        incompleteFrom={MINUTES - 1}
        format={count}
        height={180}
      />
    </Card>
  );
}
