import type { Database } from '../../platform/postgres/pool.ts';
import { delay } from '../../platform/backoff.ts';

/**
 * Waits until the owners have written every requested profile, at most `ms` or until the signal
 * aborts; answers how many still wait.
 */
export async function waitForRefolds(
  database: Database,
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<number> {
  for (const deadline = performance.now() + ms; ;) {
    const { rows } = await database.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM profile_refolds WHERE applied_at IS NULL',
    );
    const waiting = rows[0]?.n ?? 0;
    if (waiting === 0 || performance.now() > deadline || signal.aborted) return waiting;
    await delay(500, signal).catch(() => undefined);
  }
}
