import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { OperationsCard } from '../../shared/operations/operations-card.tsx';
import { useMay, useSession } from '../../shared/session/session.ts';
import { buttonClass } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Figure, Figures } from '../../shared/ui/figure.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { DeadLettersCard, type Cause } from './dead-letters-card.tsx';

interface OnCall {
  now: string;
  progress: { projection: 'events' | 'identities' | 'profiles'; fresh_until: string | null }[];
  dead_letters: Cause[];
}

/** Behind by more, s, is a warning. */
const LATE_SECONDS = 60;

const DECISIONS = [
  ...(['dead_letters.redrive', 'dead_letters.discard', 'dead_letters.restore'] as const),
  ...(['person.erase', 'person.split', 'person.rejoin'] as const),
];

/** Lag of what reports read, and events that could not be processed. */
export function OnCallPage() {
  const { t } = useLingui();
  const { data, error, refetch } = useQuery({
    queryKey: ['on-call'],
    refetchInterval: 5000,
    queryFn: ({ signal }) => api<OnCall>('/v1/on-call', { signal }),
  });
  return (
    <Page
      title={t`آماده‌باش`}
      lead={t`هر بخش چقدر عقب است، و چه رویدادهایی پردازش نشده‌اند.`}
      actions={<Actions />}
    >
      {data ? (
        <>
          {error ? (
            <Banner tone="warning">
              <Trans>ارتباط با سرور قطع است؛ این عددها خودبه‌خود تازه می‌شوند.</Trans>
            </Banner>
          ) : null}
          <ProgressCard onCall={data} />
          <DeadLettersCard causes={data.dead_letters} />
          <OperationsCard kinds={DECISIONS} />
        </>
      ) : error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : (
        <Loading lines={10} />
      )}
    </Page>
  );
}

function Actions() {
  const may = useMay();
  const { is_operator } = useSession();
  return (
    <>
      {may('audit.read') ? (
        <Link to="/on-call/changes" search={{} as never} className={buttonClass('secondary')}>
          <Trans>چه تغییر کرده است</Trans>
        </Link>
      ) : null}
      {is_operator ? (
        <Link to="/on-call/jobs" className={buttonClass('secondary')}>
          <Trans>بازپخش و بازسازی</Trans>
        </Link>
      ) : null}
    </>
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
