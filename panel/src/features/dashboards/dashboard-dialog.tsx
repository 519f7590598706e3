import { Trans } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { savedReportsQuery } from '../../shared/report/saved-report.ts';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { CheckField, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import type { Dashboard } from './queries.ts';
import styles from './dashboards.module.css';

/** As the control plane allows. */
const MAX_REPORTS = 24;

/** Name and reports of a new dashboard, or of one; reports stand in the order they are chosen. */
export function DashboardDialog({
  dashboard,
  onSaved,
  onClose,
}: {
  dashboard: Dashboard | undefined;
  onSaved: (id: number) => void;
  onClose: () => void;
}) {
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(savedReportsQuery);
  const [name, setName] = useState(dashboard?.name ?? '');
  const [chosen, setChosen] = useState<readonly number[]>(dashboard?.report_ids ?? []);
  const save = useMutation({
    mutationFn: () =>
      api<{ id: number }>(dashboard ? `/v1/dashboards/${dashboard.id}` : '/v1/dashboards', {
        method: dashboard ? 'PUT' : 'POST',
        body: { name: name.trim(), report_ids: chosen },
      }),
    onSuccess: async ({ id }) => {
      await queryClient.invalidateQueries({ queryKey: ['dashboards'] });
      onSaved(id);
    },
  });
  return (
    <Dialog
      title={dashboard ? <Trans>ویرایش داشبورد</Trans> : <Trans>داشبورد تازه</Trans>}
      onClose={onClose}
    >
      <Form
        action={<Trans>ذخیره</Trans>}
        isBusy={save.isPending}
        error={save.error}
        onSubmit={() => save.mutate()}
        onCancel={onClose}
      >
        <TextField
          label={<Trans>نام داشبورد</Trans>}
          required
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        {error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading />
        ) : data.saved_reports.length === 0 ? (
          <Empty title={<Trans>هنوز گزارشی ذخیره نشده است</Trans>}>
            <Trans>نخست در صفحهٔ یک گزارش «ذخیره» را بزنید.</Trans>
          </Empty>
        ) : (
          <fieldset className={styles['choices']}>
            <legend>
              <Trans>گزارش‌ها، به ترتیبی که انتخاب می‌کنید</Trans>
            </legend>
            {data.saved_reports.map(({ id, name: report }) => (
              <CheckField
                key={id}
                label={<bdi>{report}</bdi>}
                isChecked={chosen.includes(id)}
                onChange={(isChecked) =>
                  setChosen(
                    isChecked
                      ? [...chosen, id].slice(0, MAX_REPORTS)
                      : chosen.filter((one) => one !== id),
                  )
                }
              />
            ))}
          </fieldset>
        )}
      </Form>
    </Dialog>
  );
}
