import { afterEach, describe, expect, it } from 'vitest';
import { Ledger, untilStored } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { createAccount, FULL, ravand, readyStack, rows, sleep } from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const OUTAGE = FULL ? 60_000 : 8000;

describe('G1 to G4: during an outage under load, events are accepted, stored exactly once and in order', () => {
  const ready = readyStack();
  const client = openClickhouse();
  let stopped = '';
  afterEach(async () => {
    if (stopped !== '') await ravand('start', stopped);
  });

  async function outage(part: string) {
    const account = await createAccount(`outage ${part}`);
    const ledger = new Ledger();
    const load = startLoad({ ready, account, ledger, people: 10, pause: 10 });
    await sleep(2000);
    stopped = part;
    await ravand('stop', part);
    const before = ledger.durable.size;
    await sleep(OUTAGE);
    const during = ledger.durable.size - before;
    await ravand('start', part);
    stopped = '';
    await sleep(2000);
    const report = await load.stop();
    const found = await untilStored(client, account.accountId, ledger, 180_000);
    console.log(
      JSON.stringify({
        part,
        outage_ms: OUTAGE,
        answered: ledger.durable.size,
        answered_during: during,
        retries: report.retries,
        lost: found.lost.length,
        doubled: found.doubled.length,
      }),
    );
    return { account, ledger, report, found, during };
  }

  it.each(['kafka', 'redis', 'clickhouse', 'postgres'])(
    `when %s is unavailable for ${OUTAGE / 1000} s under load, events are accepted, stored exactly once and in order`,
    async (part) => {
      const { account, ledger, report, found, during } = await outage(part);
      expect(report.refusals).toEqual([]);
      expect(ledger.open.size).toBe(0);
      expect(found).toEqual({ lost: [], doubled: [], unknown: [] });
      expect(during).toBeGreaterThan(0);
      // G3: each request is sent after the answer to the previous one, so the log positions of a
      // person's events are in the order of their numbers.
      const disorder = await rows<{ person: string }>(
        client,
        `SELECT user_id AS person FROM (
           SELECT user_id, groupArray(property_numbers['seq']) AS seqs
           FROM (SELECT user_id, property_numbers, _epoch, _partition, _offset, _index FROM events WHERE account_id = {a:UInt64} ORDER BY user_id, _epoch, _partition, _offset, _index)
           GROUP BY user_id)
         WHERE seqs != arraySort(seqs)`,
        { a: account.accountId },
      );
      expect(disorder).toEqual([]);
    },
    FULL ? 600_000 : 240_000,
  );
});
