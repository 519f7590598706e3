import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Empty } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { DeadLettersDialog, type DeadLettersAction } from './dead-letters-dialog.tsx';

/** Dead letters with one cause. */
export interface Cause {
  group: string;
  stage: string;
  reason: string;
  events: number;
  waiting: number;
  redriven: number;
  discarded: number;
  first: string;
  last: string;
}

/** Events that could not be processed, by cause, and what to do with them. */
export function DeadLettersCard({ causes }: { causes: readonly Cause[] }) {
  const { t } = useLingui();
  const { count, dateTime } = useFormat();
  const may = useMay();
  const [open, setOpen] = useState<{ cause: Cause; action: DeadLettersAction }>();
  return (
    <Card title={<Trans>رویدادهای ناخوانا (dead letter)</Trans>}>
      {causes.length === 0 ? (
        <Empty title={<Trans>همهٔ رویدادها پردازش شده‌اند</Trans>}>
          <Trans>رویدادی که پردازش نشود گم نمی‌شود: اینجا با علت آن دیده می‌شود.</Trans>
        </Empty>
      ) : (
        <Table
          label={t`رویدادهای ناخوانا`}
          rows={causes}
          rowKey={({ group }) => group}
          columns={[
            {
              key: 'reason',
              header: <Trans>علت</Trans>,
              isRowHeader: true,
              cell: ({ reason }) => <bdi>{reason}</bdi>,
            },
            { key: 'stage', header: <Trans>بخش</Trans>, cell: ({ stage }) => <bdi>{stage}</bdi> },
            {
              key: 'waiting',
              header: <Trans>در انتظار تصمیم</Trans>,
              isNumber: true,
              cell: ({ waiting }) => count(waiting),
            },
            {
              key: 'redriven',
              header: <Trans>دوباره پردازش‌شده</Trans>,
              isNumber: true,
              cell: ({ redriven }) => count(redriven),
            },
            {
              key: 'discarded',
              header: <Trans>کنار گذاشته</Trans>,
              isNumber: true,
              cell: ({ discarded }) => count(discarded),
            },
            {
              key: 'last',
              header: <Trans>آخرین بار</Trans>,
              cell: ({ last }) => dateTime(Date.parse(last)),
            },
            {
              key: 'actions',
              header: (
                <span className="visually-hidden">
                  <Trans>کارها</Trans>
                </span>
              ),
              cell: (cause) =>
                may('settings.write') ? (
                  <>
                    {cause.waiting > 0 ? (
                      <>
                        <Button kind="quiet" onClick={() => setOpen({ cause, action: 'redrive' })}>
                          <Trans>پردازش دوباره</Trans>
                        </Button>
                        <Button kind="quiet" onClick={() => setOpen({ cause, action: 'discard' })}>
                          <Trans>کنار گذاشتن</Trans>
                        </Button>
                      </>
                    ) : null}
                    {cause.discarded > 0 ? (
                      <Button kind="quiet" onClick={() => setOpen({ cause, action: 'restore' })}>
                        <Trans>بازگرداندن</Trans>
                      </Button>
                    ) : null}
                  </>
                ) : null,
            },
          ]}
        />
      )}
      {open ? <DeadLettersDialog {...open} onClose={() => setOpen(undefined)} /> : null}
    </Card>
  );
}
