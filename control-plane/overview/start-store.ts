import type { Store } from '../store.ts';

/** What an account has done already. */
export interface StartSteps {
  has_write_key: boolean;
  has_events: boolean;
  has_report: boolean;
}

export function startStore(store: Store) {
  return {
    async read(accountId: number): Promise<StartSteps> {
      const { rows } = await store.query<StartSteps>(
        `SELECT EXISTS (SELECT FROM write_keys WHERE account_id = $1 AND revoked_at IS NULL) AS has_write_key,
           EXISTS (SELECT FROM book_totals WHERE account_id = $1 AND places > 0) AS has_events,
           EXISTS (SELECT FROM saved_reports WHERE account_id = $1) AS has_report`,
        [accountId],
      );
      const [row] = rows;
      if (!row) throw new Error('a SELECT without FROM gave no row');
      return row;
    },
  };
}

export type StartStore = ReturnType<typeof startStore>;
