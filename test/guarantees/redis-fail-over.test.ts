import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { FAIL_OVER_KINDS, type FailOverRedis } from '../support/connections/redis-fail-over.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import { startTraffic, type Envelope } from '../support/load.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { freePort, metric, ServiceProcess } from '../support/service-process.ts';
import { createAccount, FULL, ravand, readyStack, sleep } from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const KILLS = FULL ? 12 : 2;
const PEOPLE = 8;
/** Resent ids are among as many that were sent last. */
const RECENT = 400;

/**
 * Each replica that takes over lacks the last writes (FailOverRedis). A gateway and two normalisers
 * of the test replace those of the stack; all other services are the stack's. On a stack of its
 * own: the Redis of the stack lacks the claims of the test afterwards.
 */
describe('G2: a master of Redis that is killed under load loses and doubles no event', () => {
  const ready = readyStack();
  const client = openClickhouse();

  beforeAll(async () => {
    await ravand('stop', 'normaliser');
  });

  it.each(FAIL_OVER_KINDS)(
    `${KILLS} kills with -9 of a master of %s`,
    async (kind, start) => {
      const servers = await start();
      const gateway = await GatewayProcess.create(servers.env);
      const normalisers: { process: ServiceProcess; adminUrl: string }[] = [];
      try {
        const account = await createAccount('redis fail-over');
        for (const instance of ['normaliser', ''])
          normalisers.push(await normaliser(servers, instance));
        await gateway.start();
        await Promise.all(normalisers.map(loaded));
        const ledger = new Ledger();
        const load = startTraffic(
          {
            ready: { ...ready, ingest_url: gateway.url },
            account,
            ledger,
            people: PEOPLE,
            pause: 5,
          },
          resending(),
        );
        for (let kill = 0; kill < KILLS; kill += 1) {
          await sleep(500 + Math.random() * 1000);
          await servers.killMaster(kill);
          await Promise.all(normalisers.map(loaded));
          await sleep(500 + Math.random() * 1000);
          await servers.restart();
        }
        const report = await load.stop();
        const found = await untilStored(client, account.accountId, ledger);
        const backfilled = await Promise.all(
          normalisers.map(({ adminUrl }) =>
            metric(adminUrl, 'ravand_normaliser_refilled_claims_total', 'from="log"'),
          ),
        );
        const fromLog = backfilled.reduce((sum, one) => sum + one, 0);
        console.log(
          JSON.stringify({
            ...{ redis: kind, kills: KILLS, answered: ledger.durable.size },
            ...{ requests: report.requests, retries: report.retries, claims_loaded: fromLog },
            ...{ lost: found.lost.length, doubled: found.doubled.length },
          }),
        );
        expect(report.refusals).toEqual([]);
        expect(ledger.open.size).toBe(0);
        expect(found).toEqual({ lost: [], doubled: [], unknown: [] });
        expect(ledger.durable.size).toBeGreaterThan(KILLS * 100);
        expect(fromLog).toBeGreaterThan(0);
      } finally {
        await Promise.all(normalisers.map(({ process }) => process.end('SIGTERM')));
        await gateway.remove();
        await servers.stop();
      }
    },
    testTimeout(FULL ? 900_000 : 240_000),
  );

  async function normaliser({ env }: FailOverRedis, instance: string) {
    const adminPort = await freePort();
    const process = new ServiceProcess('pipeline/normalise/main.ts', {
      env: { ...env, KAFKA_INSTANCE_ID: instance, ADMIN_ADDR: `127.0.0.1:${adminPort}` },
    });
    return { process, adminUrl: `http://127.0.0.1:${adminPort}` };
  }

  const loaded = ({ process, adminUrl }: { process: ServiceProcess; adminUrl: string }) =>
    process.until('holds the claims', async () =>
      (await metric(adminUrl, 'ravand_normaliser_claims_filled')) === 1 ? true : undefined,
    );
});

/** New events, and again some that were sent before, for another person: in another partition. */
function resending(): (person: number) => readonly Envelope[] {
  const recent: string[] = [];
  const event = (messageId: string, person: number): Envelope => ({
    ...{ type: 'track', event: 'acted', user_id: `u-${person}`, message_id: messageId },
  });
  return (person) => {
    const again = Array.from(
      { length: 3 },
      () => recent[Math.floor(Math.random() * recent.length)],
    );
    const fresh = Array.from({ length: 5 }, () => randomUUID());
    recent.push(...fresh);
    recent.splice(0, Math.max(0, recent.length - RECENT));
    return [
      ...fresh.map((id) => event(id, person)),
      ...again.flatMap((id) => (id === undefined ? [] : [event(id, person + PEOPLE)])),
    ];
  };
}
