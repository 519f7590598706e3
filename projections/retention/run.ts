import type { Log } from '../../platform/log.ts';
import { leavesBelow } from './plan.ts';
import { rowsOf, type RetentionLedger, type Step } from './steps.ts';
import type { RetentionWarehouse } from './warehouse.ts';

interface RunOptions {
  ledger: RetentionLedger;
  warehouse: RetentionWarehouse;
  log: Log;
  /** Day in Tehran that the run is of, YYYY-MM-DD. */
  day: string;
  /** ms since the epoch */
  now: number;
  /** Rows that were received within this before now are left for the next run, ms. */
  margin: number;
  /** Aborts between two steps. */
  signal: AbortSignal;
  deleted: (rows: number) => void;
}

/**
 * Deletes what accounts do not keep any more, one account and one day of events at a time. Each
 * deletion is written down with its counts before it, and booked once after it: whatever is killed,
 * the books lose nothing. Rejects when a server does not answer; the next attempt goes on.
 */
export async function enforceRetention(options: RunOptions): Promise<number> {
  const { ledger, warehouse, log, day, now, margin, signal } = options;
  await ledger.begin(day);
  let total = 0;
  for (const step of await ledger.open()) total += await carryOut(options, step);
  for (const { id: accountId, days } of await ledger.accounts()) {
    signal.throwIfAborted();
    const below = leavesBelow(days, now);
    if (below === undefined) continue;
    const leaving = { accountId, below, receivedBefore: now - margin };
    let rows = 0;
    for (const eventDay of await warehouse.days(leaving)) {
      signal.throwIfAborted();
      const step: Step = {
        ...leaving,
        day: eventDay,
        counts: await warehouse.counts(leaving, eventDay),
      };
      await ledger.record(step);
      rows += await carryOut(options, step);
    }
    await warehouse.deleteDays(accountId, below);
    if (rows > 0)
      log.info(
        { account_id: accountId, rows, retention_days: days },
        'events past their retention were deleted',
      );
    total += rows;
  }
  await ledger.finish(day);
  return total;
}

async function carryOut(
  { ledger, warehouse, day, deleted }: RunOptions,
  step: Step,
): Promise<number> {
  await warehouse.delete(step);
  await ledger.close(step, day);
  const rows = rowsOf(step);
  deleted(rows);
  return rows;
}
