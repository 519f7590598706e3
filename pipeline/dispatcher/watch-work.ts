import { delay } from '../../platform/backoff.ts';
import { LookInterval } from '../../platform/look-interval.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** Whoever does the work looks by themselves so often, ms. */
export const IDLE_MS = 10_000;
const LOOK_MS = { busyMs: 1000, quietMs: 2000 };

/** What there may be to do: two look-ups in indexes. */
const LOOK = `SELECT EXISTS (SELECT 1 FROM campaign_runs WHERE state IN ('planning', 'sending')) AS runs,
  EXISTS (SELECT 1 FROM message_outbox WHERE leased_until <= clock_timestamp()) AS outcomes`;

interface Work {
  /** Runs are being planned or sent. */
  runs: boolean;
  /** Outcomes wait in message_outbox. */
  outcomes: boolean;
}

/**
 * Looks for work every second until the signal aborts, every two after a minute without any, and
 * calls back while there is some: an idle process asks PostgreSQL this one thing. While PostgreSQL
 * does not answer, and when it answers again, everything may be to do. Never rejects.
 */
export async function watchWork(options: {
  database: Pick<Database, 'query'>;
  found: Record<keyof Work, () => void>;
  signal: AbortSignal;
  lookMs?: { busyMs: number; quietMs: number };
}): Promise<void> {
  const { database, found, signal, lookMs = LOOK_MS } = options;
  const interval = new LookInterval({ ...lookMs, now: () => performance.now() });
  let isKnown = false;
  while (!signal.aborted) {
    const work = await look(database).catch(() => undefined);
    if (!isKnown || work?.runs !== false) found.runs();
    if (!isKnown || work?.outcomes !== false) found.outcomes();
    isKnown = work !== undefined;
    const hasFound = work?.runs !== false || work.outcomes;
    await delay(interval.after({ hasFound }), signal).catch(() => undefined);
  }
}

async function look(database: Pick<Database, 'query'>): Promise<Work | undefined> {
  return (await database.query<Work>(LOOK)).rows[0];
}
