import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { DashboardDialog } from './dashboard-dialog.tsx';
import { dashboardsQuery } from './queries.ts';

/** Dashboards of the account. */
export function DashboardsPage() {
  const { t } = useLingui();
  const { count, dateTime } = useFormat();
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery(dashboardsQuery);
  const [isMaking, setMaking] = useState(false);
  return (
    <Page
      title={t`داشبوردها`}
      lead={t`گزارش‌های ذخیره‌شده کنار هم، با دادهٔ امروز.`}
      actions={
        <Button kind="primary" onClick={() => setMaking(true)}>
          <Icon name="plus" />
          <Trans>داشبورد تازه</Trans>
        </Button>
      }
    >
      <Card title={<Trans>فهرست</Trans>}>
        {error && !data ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading />
        ) : data.dashboards.length === 0 ? (
          <Empty title={<Trans>هنوز داشبوردی نیست</Trans>}>
            <Trans>گزارشی ذخیره کنید و آن را در داشبوردی بگذارید تا همه یک جا ببینند.</Trans>
          </Empty>
        ) : (
          <Table
            label={t`داشبوردها`}
            rows={data.dashboards}
            rowKey={({ id }) => id}
            columns={[
              {
                key: 'name',
                header: <Trans>نام</Trans>,
                isRowHeader: true,
                cell: ({ id, name }) => (
                  <Link to="/dashboards/$id" params={{ id: String(id) }}>
                    <bdi>{name}</bdi>
                  </Link>
                ),
              },
              {
                key: 'reports',
                header: <Trans>گزارش‌ها</Trans>,
                isNumber: true,
                cell: ({ report_ids }) => count(report_ids.length),
              },
              {
                key: 'by',
                header: <Trans>از</Trans>,
                cell: ({ created_by }) => <bdi>{created_by ?? '–'}</bdi>,
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
      {isMaking ? (
        <DashboardDialog
          dashboard={undefined}
          onSaved={(id) => void navigate({ to: '/dashboards/$id', params: { id: String(id) } })}
          onClose={() => setMaking(false)}
        />
      ) : null}
    </Page>
  );
}
