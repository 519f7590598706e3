import { describe, expect, it } from 'vitest';
import { expectStoredOnce } from '../support/expect-stored-once.ts';
import { Ledger } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { testTimeout } from '../support/test-timeout.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  serviceStatus,
  readyStack,
  sleep,
} from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const KILLS = FULL ? 30 : 2;
const PARTS = ['ingest-gateway', 'normaliser', 'events-sink'];

describe('G1 and G2: an event answered 200 is stored exactly once', () => {
  const ready = readyStack();
  const client = openClickhouse();

  it.each(PARTS)(
    `after ${KILLS} kills with -9 of %s under load`,
    async (part) => {
      const account = await createAccount(`kill ${part}`);
      const ledger = new Ledger();
      const load = startLoad({ ready, account, ledger, people: 12, pause: FULL ? 5 : 30 });
      let kills = 0;
      while (kills < KILLS) {
        await sleep(300 + Math.random() * 1500);
        if (await killService(part)) kills++;
        await eventually({ ms: 30_000, waitingFor: `${part} to be up again` }, async () =>
          (await serviceStatus(part)).up ? true : undefined,
        );
      }
      await sleep(500);
      const report = await load.stop();
      const { accountId } = account;
      await expectStoredOnce(client, { accountId, ledger, report, about: { part, kills } });
      expect(ledger.durable.size).toBeGreaterThan(KILLS * 10);
    },
    testTimeout(FULL ? 900_000 : 240_000),
  );
});
