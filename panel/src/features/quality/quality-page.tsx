import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { TimeChart } from '../../shared/chart/time-chart.tsx';
import { api } from '../../shared/api/request.ts';
import { dayOfText } from '../../shared/format/dates.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { Card } from '../../shared/ui/card.tsx';
import { SelectField } from '../../shared/ui/field.tsx';
import { Figure, Figures } from '../../shared/ui/figure.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import { SPANS } from './search.ts';
import { sumByCause, type QualityAnswer } from './sum-by-cause.ts';

const route = getRouteApi('/member/quality');

/** Rejects and warnings by cause and version of the SDK. */
export function QualityPage() {
  const { t } = useLingui();
  const { count } = useFormat();
  const { days } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch } = useQuery({
    queryKey: ['quality', days],
    queryFn: ({ signal }) => api<QualityAnswer>(`/v1/ingest/quality?days=${days}`, { signal }),
  });
  return (
    <Page
      title={t`کیفیت داده`}
      lead={t`رویدادهایی که رد شده‌اند (از دست رفته‌اند) و رویدادهایی که با اصلاح پذیرفته شده‌اند.`}
      actions={
        <SelectField
          label={t`بازه`}
          isLabelHidden
          value={String(days)}
          choices={SPANS.map((span) => ({
            value: String(span),
            label: span === 1 ? t`امروز` : t`${count(span)} روز گذشته`,
          }))}
          onChange={(value) => void navigate({ search: { days: Number(value) } as never })}
        />
      }
    >
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={12} />
      ) : data.rows.length === 0 ? (
        <Card title={<Trans>خطاها و هشدارها</Trans>}>
          <Empty title={<Trans>خطا و هشداری نیست</Trans>}>
            <Trans>همهٔ رویدادهای این بازه بی‌اصلاح پذیرفته شده‌اند.</Trans>
          </Empty>
        </Card>
      ) : (
        <Result answer={data} />
      )}
    </Page>
  );
}

function Result({ answer }: { answer: QualityAnswer }) {
  const { t } = useLingui();
  const { count, shortDay } = useFormat();
  const [from, to] = [dayOfText(answer.from), dayOfText(answer.to)];
  const days = Array.from({ length: to - from + 1 }, (_, at) => from + at);
  const byDay = (kind: 'reject' | 'warn') =>
    days.map((day) =>
      answer.rows
        .filter((row) => row.kind === kind && dayOfText(row.day) === day)
        .reduce((sum, row) => sum + row.count, 0),
    );
  return (
    <>
      <Card title={<Trans>روز به روز</Trans>}>
        <Figures>
          <Figure
            label={<Trans>رد شده</Trans>}
            value={count(answer.totals.rejected)}
            {...(answer.totals.rejected > 0 ? { tone: 'danger' as const } : {})}
          />
          <Figure
            label={<Trans>پذیرفته با هشدار</Trans>}
            value={count(answer.totals.warned)}
            {...(answer.totals.warned > 0 ? { tone: 'warning' as const } : {})}
          />
        </Figures>
        <TimeChart
          label={t`خطاها و هشدارها، روز به روز`}
          unit={t`روز`}
          labels={days.map(shortDay)}
          series={[
            { key: 'reject', label: t`رد شده`, values: byDay('reject') },
            { key: 'warn', label: t`هشدار`, values: byDay('warn') },
          ]}
          format={count}
        />
      </Card>
      <Card title={<Trans>علت‌ها</Trans>}>
        <Table
          label={t`علت‌ها`}
          rows={sumByCause(answer.rows)}
          rowKey={({ key }) => key}
          columns={[
            {
              key: 'label',
              header: <Trans>علت</Trans>,
              isRowHeader: true,
              cell: ({ label, code }) => (
                <>
                  {label} <code>{code}</code>
                </>
              ),
            },
            {
              key: 'kind',
              header: <Trans>اثر</Trans>,
              cell: ({ kind }) =>
                kind === 'reject' ? (
                  <Tag tone="danger">
                    <Trans>رد شده</Trans>
                  </Tag>
                ) : (
                  <Tag tone="warning">
                    <Trans>هشدار</Trans>
                  </Tag>
                ),
            },
            { key: 'field', header: <Trans>فیلد</Trans>, cell: ({ field }) => <bdi>{field}</bdi> },
            { key: 'sdk', header: <Trans>نسخهٔ SDK</Trans>, cell: ({ sdk }) => <bdi>{sdk}</bdi> },
            { key: 'app', header: <Trans>اپلیکیشن</Trans>, cell: ({ app }) => <code>{app}</code> },
            {
              key: 'count',
              header: <Trans>شمار</Trans>,
              isNumber: true,
              cell: ({ count: number }) => count(number),
            },
          ]}
        />
      </Card>
    </>
  );
}
