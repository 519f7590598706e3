import { Trans } from '@lingui/react/macro';
import { useFormat } from '../format/use-format.ts';
import { Banner } from '../ui/states.tsx';
import styles from './meta.module.css';

/** What every report says about itself. */
export interface ReportMeta {
  fresh_until: string;
  incomplete: boolean;
  rows_read: number;
  elapsed_ms: number;
}

/** Data older than this is stale, s. */
const STALE_SECONDS = 120;

/** Freshness and cost of a result; a warning when it is stale or will still change. */
export function ReportMetaLine({ meta, askedAt }: { meta: ReportMeta; askedAt: number }) {
  const { count, duration, dateTime } = useFormat();
  const fresh = Date.parse(meta.fresh_until);
  const lag = (askedAt - fresh) / 1000;
  return (
    <div className={styles['meta']}>
      {lag > STALE_SECONDS ? (
        <Banner tone="warning">
          <Trans>
            داده‌ها {duration(lag)} عقب‌اند: رویدادهای پس از {dateTime(fresh)} هنوز در این گزارش
            نیستند.
          </Trans>
        </Banner>
      ) : null}
      {meta.incomplete ? (
        <Banner>
          <Trans>بازه هنوز به پایان نرسیده است: این عددها می‌توانند بیشتر شوند.</Trans>
        </Banner>
      ) : null}
      <p className={styles['line']}>
        <Trans>
          همهٔ رویدادها تا {dateTime(fresh)} · {count(meta.rows_read)} ردیف در{' '}
          {duration(meta.elapsed_ms / 1000)}
        </Trans>
      </p>
    </div>
  );
}
