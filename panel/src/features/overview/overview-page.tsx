import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { buttonClass } from '../../shared/ui/button.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Forbidden, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { BooksCard } from './books-card.tsx';
import { LiveCard } from './live-card.tsx';
import { overviewQuery, startQuery, type Overview } from './queries.ts';
import { StartCard } from './start-card.tsx';
import { ProblemsCard, TopEventsCard } from './top-cards.tsx';
import styles from './overview-page.module.css';

/** What happens in the account now, and what is wrong. */
export function OverviewPage() {
  const { t } = useLingui();
  const may = useMay();
  const canRead = may('event.read');
  const overview = useQuery({ ...overviewQuery, enabled: canRead });
  const start = useQuery({ ...startQuery, enabled: canRead });
  if (!canRead)
    return (
      <Page title={t`نمای کلی`}>
        {may('billing.read') ? (
          <Link to="/settings/usage" className={buttonClass('primary')}>
            <Trans>رفتن به مصرف و سهمیه</Trans>
          </Link>
        ) : (
          <Forbidden need="event.read" />
        )}
      </Page>
    );
  const { data, error, refetch } = overview;
  return (
    <Page
      title={t`نمای کلی`}
      lead={t`اکنون چه رویدادهایی می‌رسند، آیا حساب رویدادها تراز است، و چه چیزی نیاز به رسیدگی دارد.`}
      actions={
        <Link to="/live" className={buttonClass('secondary')}>
          <Trans>رویدادهای زنده</Trans>
        </Link>
      }
    >
      {/* Both together: the card of one would move the other down. */}
      {data && !start.isPending ? (
        <>
          {start.data ? <StartCard start={start.data} /> : null}
          {error ? <Stale overview={data} /> : null}
          <Announcements announcements={data.announcements} />
          <LiveCard overview={data} />
          <div className={styles['grid']}>
            <BooksCard books={data.books} />
            <ProblemsCard />
            <TopEventsCard />
          </div>
        </>
      ) : error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : (
        <Loading lines={12} />
      )}
    </Page>
  );
}

/** The last answer is shown, and newer ones do not come. */
function Stale({ overview }: { overview: Overview }) {
  const { time } = useFormat();
  return (
    <Banner tone="warning">
      <Trans>
        ارتباط با سرور قطع است؛ این عددها از ساعت {time(Date.parse(overview.now), 'seconds')} هستند
        و خودبه‌خود تازه می‌شوند.
      </Trans>
    </Banner>
  );
}

function Announcements({ announcements }: Pick<Overview, 'announcements'>) {
  const { percent } = useFormat();
  return announcements.map(({ meter, month, percent: reached }) => (
    <Banner key={`${meter} ${month} ${reached}`} tone={reached >= 100 ? 'danger' : 'warning'}>
      {meter === 'events' ? (
        <Trans>رویدادهای این ماه از {percent(reached / 100)} سهمیه گذشته است.</Trans>
      ) : (
        <Trans>اشخاص این ماه از {percent(reached / 100)} سهمیه گذشته است.</Trans>
      )}
    </Banner>
  ));
}
