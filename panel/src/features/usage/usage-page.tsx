import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { tehranDay } from '../../../../events/tehran-time.ts';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import styles from './usage-page.module.css';

interface Usage {
  month: string;
  from: string;
  to: string;
  subscription: string;
  retention_days: number;
  max_events: number;
  included: { events: number; profiles: number };
  months: { month: string; events: number; profiles: number; profiles_counted_at: string | null }[];
  announcements: {
    meter: 'events' | 'profiles';
    month: string;
    percent: number;
    created_at: string;
  }[];
}

/** What the account used of its quota in the Jalali month. */
export function UsagePage() {
  const { t } = useLingui();
  const { data, error, refetch } = useQuery({
    queryKey: ['usage'],
    refetchInterval: 60_000,
    queryFn: ({ signal }) => api<Usage>('/v1/usage', { signal }),
  });
  return (
    <Page title={t`مصرف و سهمیه`} lead={t`سهمیه در آغاز هر ماه جلالی از نو شمرده می‌شود.`}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={8} />
      ) : (
        <UsageCards usage={data} />
      )}
    </Page>
  );
}

function UsageCards({ usage }: { usage: Usage }) {
  const { t } = useLingui();
  const { count, day, month, digits, dateTime, percent } = useFormat();
  const [from, to] = [tehranDay(Date.parse(usage.from)), tehranDay(Date.parse(usage.to))];
  const now = usage.months.find((one) => one.month === usage.month);
  return (
    <>
      {usage.subscription === 'active' ? null : (
        <Banner tone="warning">
          {usage.subscription === 'trial' ? (
            <Trans>این حساب در دورهٔ آزمایشی است.</Trans>
          ) : (
            <Trans>اشتراک این حساب فعال نیست: رویدادهای تازه رد می‌شوند.</Trans>
          )}
        </Banner>
      )}
      <Card title={month(from)} note={<Trans>تا پایان {day(to - 1)}</Trans>}>
        <Meter
          label={<Trans>رویدادها</Trans>}
          name={t`رویدادهای این ماه`}
          used={now?.events ?? 0}
          included={usage.included.events}
        />
        <Meter
          label={<Trans>اشخاص</Trans>}
          name={t`اشخاص این ماه`}
          used={now?.profiles ?? 0}
          included={usage.included.profiles}
        />
        <p className={styles['note']}>
          {usage.max_events > 0 ? (
            <Trans>پس از {count(usage.max_events)} رویداد، رویدادهای این ماه رد می‌شوند. </Trans>
          ) : null}
          <Trans>رویدادها {count(usage.retention_days)} روز نگه داشته می‌شوند. </Trans>
          {now?.profiles_counted_at ? (
            <Trans>آخرین شمارش اشخاص: {dateTime(Date.parse(now.profiles_counted_at))}.</Trans>
          ) : (
            <Trans>اشخاص این ماه هنوز شمرده نشده‌اند.</Trans>
          )}
        </p>
      </Card>
      <Card title={<Trans>ماه‌های پیش</Trans>}>
        {usage.months.length === 0 ? (
          <Empty title={<Trans>هنوز مصرفی ثبت نشده است</Trans>} />
        ) : (
          <Table
            label={t`مصرف ماه‌ها`}
            rows={usage.months}
            rowKey={(one) => one.month}
            columns={[
              {
                key: 'month',
                header: <Trans>ماه</Trans>,
                isRowHeader: true,
                cell: (one) => digits(one.month.replace('-', '/')),
              },
              {
                key: 'events',
                header: <Trans>رویدادها</Trans>,
                isNumber: true,
                cell: (one) => count(one.events),
              },
              {
                key: 'profiles',
                header: <Trans>اشخاص</Trans>,
                isNumber: true,
                cell: (one) => count(one.profiles),
              },
            ]}
          />
        )}
      </Card>
      <Card title={<Trans>اعلان‌ها</Trans>}>
        {usage.announcements.length === 0 ? (
          <Empty title={<Trans>اعلانی نیست</Trans>}>
            <Trans>هنگامی که مصرف به مرزهای سهمیه نزدیک شود، اینجا خبر داده می‌شود.</Trans>
          </Empty>
        ) : (
          <Table
            label={t`اعلان‌ها`}
            rows={usage.announcements}
            rowKey={(one) => `${one.meter} ${one.month} ${one.percent}`}
            columns={[
              {
                key: 'at',
                header: <Trans>زمان</Trans>,
                cell: (one) => dateTime(Date.parse(one.created_at)),
              },
              {
                key: 'meter',
                header: <Trans>چه</Trans>,
                isRowHeader: true,
                cell: (one) =>
                  one.meter === 'events' ? <Trans>رویدادها</Trans> : <Trans>اشخاص</Trans>,
              },
              {
                key: 'percent',
                header: <Trans>از سهمیه</Trans>,
                isNumber: true,
                cell: (one) => percent(one.percent / 100),
              },
            ]}
          />
        )}
      </Card>
    </>
  );
}

function Meter({
  label,
  name,
  used,
  included,
}: {
  label: ReactNode;
  name: string;
  used: number;
  included: number;
}) {
  const { count, percent } = useFormat();
  const share = included > 0 ? used / included : undefined;
  return (
    <div className={styles['meter']}>
      <div className={styles['line']}>
        <span>{label}</span>
        <span>
          {share === undefined ? (
            <Trans>{count(used)}، بدون سهمیه</Trans>
          ) : (
            <Trans>
              {count(used)} از {count(included)} ({percent(share)})
            </Trans>
          )}
        </span>
      </div>
      {share === undefined ? null : (
        <meter
          className={styles['bar']}
          aria-label={name}
          min={0}
          max={1}
          high={0.8}
          value={Math.min(1, share)}
        />
      )}
    </div>
  );
}
