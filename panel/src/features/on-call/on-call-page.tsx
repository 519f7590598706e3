import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { CodeBlock } from '../../shared/ui/code-block.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { Figure, Figures } from '../../shared/ui/figure.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';

interface Cause {
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

interface OnCall {
  now: string;
  progress: { projection: 'events' | 'identities' | 'profiles'; fresh_until: string | null }[];
  dead_letters: Cause[];
}

/** Behind by more, s, is a warning. */
const LATE_SECONDS = 60;

/** Lag of what reports read, and events that could not be processed. */
export function OnCallPage() {
  const { t } = useLingui();
  const { data, error, refetch } = useQuery({
    queryKey: ['on-call'],
    refetchInterval: 5000,
    queryFn: ({ signal }) => api<OnCall>('/v1/on-call', { signal }),
  });
  return (
    <Page title={t`آماده‌باش`} lead={t`هر بخش چقدر عقب است، و چه رویدادهایی پردازش نشده‌اند.`}>
      {data ? (
        <>
          {error ? (
            <Banner tone="warning">
              <Trans>ارتباط با سرور قطع است؛ این عددها خودبه‌خود تازه می‌شوند.</Trans>
            </Banner>
          ) : null}
          <ProgressCard onCall={data} />
          <DeadLettersCard causes={data.dead_letters} />
        </>
      ) : error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : (
        <Loading lines={10} />
      )}
    </Page>
  );
}

function ProgressCard({ onCall: { now, progress } }: { onCall: OnCall }) {
  const { t } = useLingui();
  const { duration, dateTime } = useFormat();
  const names = { events: t`رویدادها`, identities: t`شناسه‌ها`, profiles: t`پروفایل‌ها` };
  return (
    <Card title={<Trans>تأخیر</Trans>} note={<Trans>هر ۵ ثانیه تازه می‌شود</Trans>}>
      <Figures>
        {progress.map(({ projection, fresh_until }) => {
          if (fresh_until === null)
            return (
              <Figure
                key={projection}
                label={names[projection]}
                value={<Trans>نامعلوم</Trans>}
                tone="danger"
              />
            );
          const lag = Math.max(0, (Date.parse(now) - Date.parse(fresh_until)) / 1000);
          return (
            <Figure
              key={projection}
              label={names[projection]}
              value={lag < 10 ? <Trans>به‌روز</Trans> : <Trans>{duration(lag)} عقب</Trans>}
              note={<Trans>همه چیز تا {dateTime(Date.parse(fresh_until))}</Trans>}
              tone={lag > LATE_SECONDS ? 'warning' : 'success'}
            />
          );
        })}
      </Figures>
    </Card>
  );
}

function DeadLettersCard({ causes }: { causes: readonly Cause[] }) {
  const { t } = useLingui();
  const { count, dateTime } = useFormat();
  const [shown, setShown] = useState<Cause>();
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
              cell: (cause) => (
                <Button kind="quiet" onClick={() => setShown(cause)}>
                  <bdi>{cause.reason}</bdi>
                </Button>
              ),
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
              key: 'last',
              header: <Trans>آخرین بار</Trans>,
              cell: ({ last }) => dateTime(Date.parse(last)),
            },
          ]}
        />
      )}
      {shown ? (
        <Dialog title={<bdi>{shown.reason}</bdi>} onClose={() => setShown(undefined)}>
          <p>
            <Trans>
              {count(shown.events)} رویداد پذیرفته‌شده در انتظارند. نخست علت را برطرف کنید؛ سپس
              پردازش دوباره را آزمایشی اجرا کنید:
            </Trans>
          </p>
          <CodeBlock
            label={t`فرمان`}
            text={`./ravand dlq show ${shown.group}\n./ravand dlq redrive ${shown.group} --dry-run`}
          />
        </Dialog>
      ) : null}
    </Card>
  );
}
