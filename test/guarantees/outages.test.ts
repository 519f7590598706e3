import { afterEach, describe, expect, it } from 'vitest';
import { peopleInDisorder } from '../support/disorder.ts';
import { expectStoredOnce } from '../support/expect-stored-once.ts';
import { Ledger } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { createAccount, FULL, ravand, readyStack, sleep } from '../support/stack.ts';
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
    const load = startLoad({ ready, account, ledger, people: 10, pause: FULL ? 10 : 40 });
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
    const about = { part, outage_ms: OUTAGE, answered_during: during };
    await expectStoredOnce(client, { accountId: account.accountId, ledger, report, about });
    return { account, during };
  }

  it.each(['kafka', 'redis', 'clickhouse', 'postgres'])(
    `when %s is unavailable for ${OUTAGE / 1000} s under load, events are accepted, stored exactly once and in order`,
    async (part) => {
      const { account, during } = await outage(part);
      expect(during).toBeGreaterThan(0);
      expect(await peopleInDisorder(client, account.accountId)).toEqual([]);
    },
    testTimeout(FULL ? 600_000 : 240_000),
  );
});
