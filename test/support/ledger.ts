import type { ClickHouseClient } from '@clickhouse/client';
import { eventually, rows } from './stack.ts';

/** What a client was told, by message id: the independent side of the books. */
export class Ledger {
  /** Answered 200: must be stored exactly once. */
  readonly durable = new Set<string>();
  /** Sent and never answered: may be stored, but never twice. */
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

/** Compares a ledger with what is stored of an account. */
export async function compare(
  client: ClickHouseClient,
  accountId: number,
  ledger: Ledger,
): Promise<Discrepancies> {
  const stored = new Map(
    (
      await rows<{ id: string; n: number }>(
        client,
        'SELECT message_id AS id, count() AS n FROM events WHERE account_id = {a:UInt64} GROUP BY id',
        {
          a: accountId,
        },
      )
    ).map(({ id, n }) => [id, n]),
  );
  return {
    lost: [...ledger.durable].filter((id) => !stored.has(id)),
    doubled: [...stored].filter(([, n]) => n > 1).map(([id]) => id),
    unknown: [...stored.keys()].filter((id) => !ledger.durable.has(id) && !ledger.open.has(id)),
  };
}

/**
 * Waits until nothing answered 200 is missing, then a little longer, so that a double that comes
 * late is seen too.
 */
export async function settle(
  client: ClickHouseClient,
  accountId: number,
  ledger: Ledger,
  ms = 90_000,
): Promise<Discrepancies> {
  await eventually(
    { ms, every: 1000, waitingFor: 'everything answered 200 to be stored' },
    async () => ((await compare(client, accountId, ledger)).lost.length === 0 ? true : undefined),
  ).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 4000));
  return compare(client, accountId, ledger);
}
