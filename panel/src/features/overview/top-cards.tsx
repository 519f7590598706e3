import { Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Bars } from '../../shared/chart/bars.tsx';
import { useFormat } from '../../shared/format/use-format.ts';
import { eventsQuery } from '../../shared/report/schema.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { qualityQuery, type Quality } from './queries.ts';

const SHOWN = 8;

export function TopEventsCard() {
  const { count } = useFormat();
  const { data, error, refetch } = useQuery(eventsQuery);
  const top = (data?.events ?? []).slice(0, SHOWN);
  const most = top[0]?.volume ?? 1;
  return (
    <Card title={<Trans>پرشمارترین رویدادها</Trans>} note={<Trans>۹۰ روز گذشته</Trans>}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={SHOWN} />
      ) : top.length === 0 ? (
        <Empty title={<Trans>هنوز رویدادی نیست</Trans>} />
      ) : (
        <Bars
          bars={top.map(({ name, volume }) => ({
            key: name,
            label: <bdi>{name}</bdi>,
            value: count(volume),
            share: volume / most,
          }))}
        />
      )}
    </Card>
  );
}

/** Rejects and warnings of a week, most frequent first. */
export function ProblemsCard() {
  const { count } = useFormat();
  const { data, error, refetch } = useQuery(qualityQuery);
  const top = data ? sumByLabel(data.rows).slice(0, SHOWN) : [];
  const most = top[0]?.count ?? 1;
  return (
    <Card title={<Trans>خطاهای دریافت</Trans>} note={<Trans>۷ روز گذشته</Trans>}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={SHOWN} />
      ) : top.length === 0 ? (
        <Empty title={<Trans>خطایی نیست</Trans>}>
          <Trans>همهٔ رویدادهای این هفته بی‌اصلاح پذیرفته شده‌اند.</Trans>
        </Empty>
      ) : (
        <Bars
          bars={top.map((one) => ({
            key: one.label,
            label: one.label,
            value: count(one.count),
            share: one.count / most,
          }))}
        />
      )}
    </Card>
  );
}

function sumByLabel(rows: Quality['rows']): { label: string; count: number }[] {
  const groups = Map.groupBy(rows, ({ label }) => label);
  return [...groups]
    .map(([label, of]) => ({ label, count: of.reduce((sum, { count }) => sum + count, 0) }))
    .toSorted((a, b) => b.count - a.count);
}
