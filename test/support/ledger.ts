import type { ClickHouseClient } from '@clickhouse/client';
import { eventually, rows, sleep } from './stack.ts';

/** The client's own record of its events, by message id. */
export class Ledger {
  /** Answered 200: stored exactly once. */
  readonly durable = new Set<string>();
  /** Sent and not answered 200: stored at most once. */
  readonly open = new Set<string>();

  sent(ids: readonly string[]): void {
    for (const id of ids) if (!this.durable.has(id)) this.open.add(id);
  }

  answered(ids: readonly string[]): void {
    for (const id of ids) {
      this.durable.add(id);
      this.open.delete(id);
    }
  }
}

export interface Discrepancies {
  lost: string[];
  doubled: string[];
  unknown: string[];
}

/** Compares a ledger with the stored events of an account. */
export async function compare(
  client: ClickHouseClient,
  accountId: number,
  ledger: Ledger,
): Promise<Discrepancies> {
  const stored = new Map(
    (
      await rows<{ id: string; n: number }>(
        client,
        `SELECT message_id AS id, count() AS n FROM events
         WHERE account_id = {a:UInt64} GROUP BY id`,
        { a: accountId },
      )
    ).map(({ id, n }) => [id, n]),
  );
  return {
    lost: [...ledger.durable].filter((id) => !stored.has(id)),
    doubled: [...stored].filter(([, n]) => n > 1).map(([id]) => id),
    unknown: [...stored.keys()].filter((id) => !ledger.durable.has(id) && !ledger.open.has(id)),
  };
}

/** Waits until every event answered 200 is stored, then 4 s more for late duplicates. */
export async function untilStored(
  client: ClickHouseClient,
  accountId: number,
  ledger: Ledger,
  ms = 90_000,
): Promise<Discrepancies> {
  await eventually(
    { ms, every: 1000, waitingFor: 'everything answered 200 to be stored' },
    async () => ((await compare(client, accountId, ledger)).lost.length === 0 ? true : undefined),
  ).catch(() => undefined);
  await sleep(4000);
  return compare(client, accountId, ledger);
}
