import type { Store } from '../store.ts';

/** Months of the history, the current one included. */
const MONTHS = 13;
const ANNOUNCEMENTS = 20;

export interface Announcement {
  meter: 'events' | 'profiles';
  /** YYYY-MM of the Jalali calendar. */
  month: string;
  percent: number;
  created_at: string;
}

export interface MonthUsage {
  /** YYYY-MM of the Jalali calendar. */
  month: string;
  events: number;
  profiles: number;
  /** When the people were counted last (PROFILES_METER_INTERVAL); null: not yet. */
  profiles_counted_at: string | null;
}

/** What an account may use, and what it used. */
export interface AccountUsage {
  subscription: string;
  retention_days: number;
  /** 0: none. */
  max_events: number;
  included: { events: number; profiles: number };
  /** By month, newest first. */
  months: MonthUsage[];
  announcements: Announcement[];
}

/** Usage of accounts, from the meters (ingest 8). */
export function usageStore(store: Store) {
  return {
    async read(accountId: number): Promise<AccountUsage> {
      const [account, months, announcements] = await Promise.all([
        store.query<{
          subscription: string;
          retention_days: number;
          max_events: number;
          included_events: number;
          included_profiles: number;
        }>(
          'SELECT subscription, retention_days, max_events::float8, included_events::float8, included_profiles::float8 FROM accounts WHERE id = $1',
          [accountId],
        ),
        store.query<Omit<MonthUsage, 'profiles_counted_at'> & { profiles_counted_at: Date | null }>(
          `SELECT month, coalesce(sum(value) FILTER (WHERE meter = 'events'), 0)::float8 AS events, coalesce(sum(value) FILTER (WHERE meter = 'profiles'), 0)::float8 AS profiles,
             max(updated_at) FILTER (WHERE meter = 'profiles') AS profiles_counted_at
           FROM meters WHERE account_id = $1 GROUP BY month ORDER BY month DESC LIMIT ${MONTHS}`,
          [accountId],
        ),
        store.query<Omit<Announcement, 'created_at'> & { created_at: Date }>(
          `SELECT meter, month, percent, created_at FROM announcements WHERE account_id = $1 ORDER BY created_at DESC, percent DESC LIMIT ${ANNOUNCEMENTS}`,
          [accountId],
        ),
      ]);
      const [row] = account.rows;
      if (!row) throw new Error(`account ${accountId} does not exist any more`);
      const { included_events: events, included_profiles: profiles, ...plan } = row;
      return {
        ...plan,
        included: { events, profiles },
        months: months.rows.map(({ profiles_counted_at: countedAt, ...one }) => ({
          ...one,
          profiles_counted_at: countedAt?.toISOString() ?? null,
        })),
        announcements: announcements.rows.map(({ created_at, ...one }) => ({
          ...one,
          created_at: created_at.toISOString(),
        })),
      };
    },
  };
}

export type UsageStore = ReturnType<typeof usageStore>;
