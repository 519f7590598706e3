import type { Log } from '../../platform/log.ts';
import type { RetentionRows } from './clickhouse-rows.ts';
import { expiresBelow } from './plan.ts';
import { rowsOf, type RetentionLedger, type Step } from './steps.ts';

interface RunOptions {
  ledger: RetentionLedger;
  stored: RetentionRows;
  log: Log;
  /** Day of the run in Tehran, YYYY-MM-DD. */
  day: string;
  /** ms since the epoch */
  now: number;
  /** Rows received within this time before `now` wait for the next run, ms. */
  margin: number;
  /** Stops the run between two steps. */
  signal: AbortSignal;
  deleted: (rows: number) => void;
}

/**
 * Deletes expired events, one account and one day of events at a time. PostgreSQL records each
 * deletion with its counts before ClickHouse executes it, and reconciliation counts it once
 * afterwards: a crash between the two loses no count. Rejects when a server does not answer; the
 * next run continues.
 */
export async function enforceRetention(options: RunOptions): Promise<number> {
  const { ledger, stored, log, day, now, margin, signal } = options;
  await ledger.begin(day);
  let total = 0;
  for (const step of await ledger.open()) total += await deleteRows(options, step);
  for (const { id: accountId, days } of await ledger.accounts()) {
    signal.throwIfAborted();
    const below = expiresBelow(days, now);
    if (below === undefined) continue;
    const expired = { accountId, below, receivedBefore: now - margin };
    let rows = 0;
    for (const eventDay of await stored.days(expired)) {
      signal.throwIfAborted();
      const since = await ledger.clock();
      const counts = await stored.counts(expired, eventDay);
      const step: Step = { ...expired, day: eventDay, counts };
      if (!(await ledger.record(step, since))) {
        log.info({ account_id: accountId }, 'an erasure is under way: the next run goes on');
        break;
      }
      rows += await deleteRows(options, step);
    }
    await stored.deleteDays(accountId, below);
    await stored.deleteMessages(accountId, below);
    if (rows > 0) await ledger.recordDeleted({ accountId, rows, days, below });
    if (rows > 0)
      log.info({ account_id: accountId, rows, retention_days: days }, 'deleted expired events');
    total += rows;
  }
  await ledger.finish(day);
  return total;
}

async function deleteRows(
  { ledger, stored, day, deleted }: RunOptions,
  step: Step,
): Promise<number> {
  await stored.delete(step);
  await ledger.close(step, day);
  const rows = rowsOf(step);
  deleted(rows);
  return rows;
}
