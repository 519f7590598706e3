import type { ClickHouseClient } from '@clickhouse/client';
import { expect } from 'vitest';
import { untilStored, type Ledger } from './ledger.ts';
import type { LoadReport } from './load.ts';

interface Loaded {
  accountId: number;
  ledger: Ledger;
  /** Of the load, after it was stopped. */
  report: LoadReport;
  /** Said in the printed line: what was done to the stack. */
  about?: Record<string, unknown>;
}

/**
 * G1, G2 and G4 after a load: whatever was answered 200 is stored once, nothing else is, and
 * nothing was refused or left open. Prints the counts first.
 */
export async function expectStoredOnce(
  client: ClickHouseClient,
  { accountId, ledger, report, about = {} }: Loaded,
): Promise<void> {
  const found = await untilStored(client, accountId, ledger, 180_000);
  const { requests, retries, refusals } = report;
  console.log(
    JSON.stringify({
      ...about,
      ...{ answered: ledger.durable.size, requests, retries },
      ...{ lost: found.lost.length, doubled: found.doubled.length },
    }),
  );
  expect(refusals).toEqual([]);
  expect(ledger.open.size).toBe(0);
  expect(found).toEqual({ lost: [], doubled: [], unknown: [] });
}
