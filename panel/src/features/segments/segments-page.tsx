import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { buttonClass } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { segmentsQuery } from './queries.ts';

/** Stored audiences. */
export function SegmentsPage() {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  const may = useMay();
  const { data, error, refetch } = useQuery(segmentsQuery);
  const add = may('segment.write') ? (
    <Link to="/segments/new" className={buttonClass('primary')}>
      <Trans>سگمنت تازه</Trans>
    </Link>
  ) : null;
  return (
    <Page
      title={t`سگمنت‌ها`}
      lead={t`گروهی از اشخاص با یک نام، که با هر رویداد تازه می‌شود و مخاطب کمپین‌هاست.`}
      actions={add}
    >
      <Card title={<Trans>سگمنت‌های حساب</Trans>}>
        {error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading />
        ) : data.segments.length === 0 ? (
          <Empty title={<Trans>هنوز سگمنتی نیست</Trans>} action={add}>
            <Trans>مثلاً: کسانی که کالایی را دیده‌اند و در سی روز گذشته نخریده‌اند.</Trans>
          </Empty>
        ) : (
          <Table
            label={t`سگمنت‌ها`}
            rows={data.segments}
            rowKey={({ id }) => id}
            columns={[
              {
                key: 'name',
                header: <Trans>نام</Trans>,
                isRowHeader: true,
                cell: ({ id, name }) => (
                  <Link to="/segments/$id" params={{ id: String(id) }}>
                    <bdi>{name}</bdi>
                  </Link>
                ),
              },
              {
                key: 'at',
                header: <Trans>آخرین تغییر</Trans>,
                cell: ({ updated_at }) => dateTime(Date.parse(updated_at)),
              },
            ]}
          />
        )}
      </Card>
    </Page>
  );
}
