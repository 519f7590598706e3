import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { OperationsCard } from '../../shared/operations/operations-card.tsx';
import { useMay, useSession } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Forbidden, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import { RebuildDialog } from './rebuild-dialog.tsx';
import { ReplayDialog } from './replay-dialog.tsx';

interface Job {
  id: number;
  kind: 'replay' | 'rebuild';
  command: string;
  target: string;
  state: 'running' | 'finished' | 'cancelled';
  counts: Readonly<Record<string, unknown>>;
  started_at: string;
  updated_at: string;
}

const KINDS = ['log.replay', 'projection.rebuild'] as const;

/** Replays and rebuilds, which concern all accounts: for operators of the installation. */
export function JobsPage() {
  const { t } = useLingui();
  const { is_operator } = useSession();
  const canWrite = useMay()('settings.write') && is_operator;
  const [open, setOpen] = useState<'replay' | 'rebuild'>();
  const close = () => setOpen(undefined);
  return (
    <Page
      title={t`بازپخش و بازسازی`}
      lead={t`بازپخش، رویدادهای جامانده را از لاگ می‌افزاید. بازسازی، جدولی را کنار جدول زنده می‌سازد و با آن می‌سنجد.`}
      actions={
        canWrite ? (
          <>
            <Button onClick={() => setOpen('replay')}>
              <Trans>بازپخش تازه</Trans>
            </Button>
            <Button onClick={() => setOpen('rebuild')}>
              <Trans>بازسازی تازه</Trans>
            </Button>
          </>
        ) : null
      }
    >
      {is_operator ? (
        <>
          <JobsCard />
          <OperationsCard kinds={KINDS} />
          {open === 'replay' ? <ReplayDialog onClose={close} /> : null}
          {open === 'rebuild' ? <RebuildDialog onClose={close} /> : null}
        </>
      ) : (
        <Forbidden need="operator" />
      )}
    </Page>
  );
}

function JobsCard() {
  const { t } = useLingui();
  const { count, dateTime } = useFormat();
  const { data, error, refetch } = useQuery({
    queryKey: ['jobs'],
    refetchInterval: 2000,
    queryFn: ({ signal }) => api<{ jobs: Job[] }>('/v1/jobs', { signal }),
  });
  const states = { running: t`در حال انجام`, finished: t`پایان یافت`, cancelled: t`لغو شد` };
  const read = ({ counts }: Job) => {
    const value = counts['records'] ?? counts['events'];
    return typeof value === 'number' ? count(value) : '–';
  };
  return (
    <Card title={<Trans>پیشرفت</Trans>} note={<Trans>هر ۲ ثانیه تازه می‌شود</Trans>}>
      {error && !data ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : data.jobs.length === 0 ? (
        <Empty title={<Trans>هنوز بازپخش یا بازسازی نشده است</Trans>}>
          <Trans>هر دو را نخست آزمایشی اجرا کنید؛ آنگاه چیزی تغییر نمی‌کند.</Trans>
        </Empty>
      ) : (
        <Table
          label={t`بازپخش‌ها و بازسازی‌ها`}
          rows={data.jobs}
          rowKey={({ id }) => id}
          columns={[
            {
              key: 'command',
              header: <Trans>کار</Trans>,
              isRowHeader: true,
              cell: ({ command }) => <code dir="ltr">{command}</code>,
            },
            {
              key: 'target',
              header: <Trans>جدول</Trans>,
              cell: ({ target }) => <bdi>{target}</bdi>,
            },
            {
              key: 'state',
              header: <Trans>وضعیت</Trans>,
              cell: ({ state }) => (
                <Tag
                  tone={state === 'running' ? 'accent' : state === 'finished' ? 'success' : 'plain'}
                >
                  {states[state]}
                </Tag>
              ),
            },
            { key: 'read', header: <Trans>خوانده‌شده</Trans>, isNumber: true, cell: read },
            {
              key: 'at',
              header: <Trans>آخرین پیشرفت</Trans>,
              cell: ({ updated_at }) => dateTime(Date.parse(updated_at)),
            },
          ]}
        />
      )}
    </Card>
  );
}
