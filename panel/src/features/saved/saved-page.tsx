import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { savedReportsQuery, type SavedReport } from '../../shared/report/saved-report.ts';
import { useMay, useSession } from '../../shared/session/session.ts';
import { Button, buttonClass } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { ConfirmDialog } from '../../shared/ui/dialog.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';

/** Reports that members of the account saved. */
export function SavedPage() {
  const { t } = useLingui();
  const { data, error, refetch } = useQuery(savedReportsQuery);
  const [removing, setRemoving] = useState<SavedReport>();
  return (
    <Page
      title={t`گزارش‌های ذخیره‌شده`}
      lead={t`هر گزارش با همان گام‌ها و شرط‌ها و با دادهٔ امروز باز می‌شود.`}
    >
      <Card title={<Trans>گزارش‌ها</Trans>}>
        {error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading />
        ) : data.saved_reports.length === 0 ? (
          <Empty
            title={<Trans>هنوز گزارشی ذخیره نشده است</Trans>}
            action={
              <Link to="/reports/funnel" search={{} as never} className={buttonClass('primary')}>
                <Trans>ساختن قیف</Trans>
              </Link>
            }
          >
            <Trans>گزارشی بسازید و «ذخیره» را بزنید تا همهٔ اعضا آن را اینجا ببینند.</Trans>
          </Empty>
        ) : (
          <ReportTable reports={data.saved_reports} onRemove={setRemoving} />
        )}
      </Card>
      {removing ? <RemoveReport report={removing} onClose={() => setRemoving(undefined)} /> : null}
    </Page>
  );
}

function ReportTable({
  reports,
  onRemove,
}: {
  reports: readonly SavedReport[];
  onRemove: (report: SavedReport) => void;
}) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  const may = useMay();
  const { member } = useSession();
  const kinds = { funnel: t`قیف`, retention: t`بازگشت`, trends: t`روندها`, paths: t`مسیرها` };
  return (
    <Table
      label={t`گزارش‌های ذخیره‌شده`}
      rows={reports}
      rowKey={({ id }) => id}
      columns={[
        {
          key: 'name',
          header: <Trans>نام</Trans>,
          isRowHeader: true,
          cell: ({ name, kind, definition }) => (
            <Link to={`/reports/${kind}`} search={definition as never}>
              <bdi>{name}</bdi>
            </Link>
          ),
        },
        { key: 'kind', header: <Trans>نوع</Trans>, cell: ({ kind }) => kinds[kind] },
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
        {
          key: 'remove',
          header: (
            <span className="visually-hidden">
              <Trans>حذف</Trans>
            </span>
          ),
          cell: (report) =>
            report.created_by === member.email || may('settings.write') ? (
              <Button kind="quiet" onClick={() => onRemove(report)}>
                <Trans>حذف</Trans>
              </Button>
            ) : null,
        },
      ]}
    />
  );
}

function RemoveReport({ report, onClose }: { report: SavedReport; onClose: () => void }) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/v1/saved-reports/${report.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['saved-reports'] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={<Trans>حذف گزارش</Trans>}
      action={<Trans>حذف</Trans>}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Trans>
        «<bdi>{report.name}</bdi>» برای همهٔ اعضا حذف می‌شود.
      </Trans>
    </ConfirmDialog>
  );
}
