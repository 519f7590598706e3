import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Suspense, use, useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { ReportTiles } from '../../shared/report/report-tiles.ts';
import { savedReportsQuery, type SavedReport } from '../../shared/report/saved-report.ts';
import { useMay, useSession } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { ConfirmDialog } from '../../shared/ui/dialog.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { DashboardDialog } from './dashboard-dialog.tsx';
import { dashboardsQuery, type Dashboard } from './queries.ts';
import styles from './dashboards.module.css';

const route = getRouteApi('/member/dashboards/$id');

/** The saved reports of a dashboard, each with its freshness. */
export function DashboardPage() {
  const { t } = useLingui();
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(dashboardsQuery);
  const dashboard = data?.dashboards.find((one) => String(one.id) === id);
  return (
    <Page
      title={dashboard?.name ?? t`داشبورد`}
      actions={dashboard ? <Actions dashboard={dashboard} /> : null}
    >
      {dashboard ? (
        <Reports ids={dashboard.report_ids} />
      ) : error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : data ? (
        <Empty title={<Trans>این داشبورد دیگر نیست</Trans>} />
      ) : (
        <Loading lines={12} />
      )}
    </Page>
  );
}

function Reports({ ids }: { ids: readonly number[] }) {
  const { data, error, refetch } = useQuery(savedReportsQuery);
  if (error && !data) return <ProblemState error={error} retry={() => void refetch()} />;
  if (!data) return <Loading lines={12} />;
  const reports = ids.flatMap((id) => data.saved_reports.find((one) => one.id === id) ?? []);
  if (reports.length === 0)
    return (
      <Empty title={<Trans>این داشبورد هنوز گزارشی ندارد</Trans>}>
        <Trans>با «ویرایش» گزارش‌های ذخیره‌شده را در آن بگذارید.</Trans>
      </Empty>
    );
  return (
    <div className={styles['grid']}>
      {reports.map((report) => (
        <Tile key={report.id} report={report} />
      ))}
    </div>
  );
}

function Tile({ report: { name, kind, definition } }: { report: SavedReport }) {
  const Result = use(ReportTiles)?.[kind];
  return (
    <Card
      title={<bdi>{name}</bdi>}
      actions={
        <Link to={`/reports/${kind}`} search={definition as never}>
          <Trans>باز کردن گزارش</Trans>
        </Link>
      }
    >
      <Suspense fallback={<Loading lines={6} />}>
        {Result ? <Result definition={definition} /> : null}
      </Suspense>
    </Card>
  );
}

function Actions({ dashboard }: { dashboard: Dashboard }) {
  const may = useMay();
  const { member } = useSession();
  const navigate = route.useNavigate();
  const queryClient = useQueryClient();
  const [open, setOpen] = useState<'edit' | 'remove'>();
  const [isCopied, setCopied] = useState(false);
  const close = () => setOpen(undefined);
  const remove = useMutation({
    mutationFn: () => api(`/v1/dashboards/${dashboard.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await navigate({ to: '/dashboards' });
      await queryClient.invalidateQueries({ queryKey: ['dashboards'] });
    },
  });
  const canEdit = dashboard.created_by === member.email || may('settings.write');
  const copy = async () => {
    await navigator.clipboard.writeText(location.href);
    setCopied(true);
  };
  return (
    <>
      <Button onClick={() => void queryClient.invalidateQueries({ queryKey: ['report'] })}>
        <Trans>تازه کردن</Trans>
      </Button>
      <Button onClick={() => void copy()}>
        <span role="status">
          {isCopied ? <Trans>پیوند رونوشت شد</Trans> : <Trans>رونوشت پیوند</Trans>}
        </span>
      </Button>
      {canEdit ? (
        <>
          <Button onClick={() => setOpen('edit')}>
            <Trans>ویرایش</Trans>
          </Button>
          <Button onClick={() => setOpen('remove')}>
            <Trans>حذف</Trans>
          </Button>
        </>
      ) : null}
      {open === 'edit' ? (
        <DashboardDialog dashboard={dashboard} onSaved={close} onClose={close} />
      ) : null}
      {open === 'remove' ? (
        <ConfirmDialog
          title={<Trans>حذف داشبورد</Trans>}
          action={<Trans>حذف</Trans>}
          name={dashboard.name}
          isBusy={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.mutate()}
          onClose={close}
        >
          <Trans>داشبورد برای همهٔ اعضا حذف می‌شود؛ گزارش‌های آن می‌مانند.</Trans>
        </ConfirmDialog>
      ) : null}
    </>
  );
}
