import type { Store } from '../store.ts';

export interface BookMinute {
  /** Start of the minute, ISO 8601. */
  minute: string;
  /** Events published in this minute, duplicates not counted. */
  accepted: number;
  rejected: number;
}

/** The events of an account by minute of their reception, a few seconds behind at most. */
export function bookMinutes(store: Store) {
  return {
    /** Minutes without events are absent; oldest first. */
    async since(accountId: number, from: number): Promise<BookMinute[]> {
      const { rows } = await store.query<{ minute: Date; accepted: number; rejected: number }>(
        `SELECT minute, (places - repeats - duplicates_after)::float8 AS accepted, rejected::float8 FROM books
         WHERE account_id = $1 AND minute >= $2 ORDER BY minute`,
        [accountId, new Date(from)],
      );
      return rows.map(({ minute, ...counts }) => ({ minute: minute.toISOString(), ...counts }));
    },
  };
}

export type BookMinutes = ReturnType<typeof bookMinutes>;
