import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLayout, type LayoutPhase } from '../../platform/log/layout.ts';
import { withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { post } from '../support/client.ts';
import { startCommerceLoad, type SentEvents } from '../support/commerce-load.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import { startLoad, type Load } from '../support/load.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { stackKafka } from '../support/read-topic.ts';
import { ServiceProcess } from '../support/service-process.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  ravand,
  readyStack,
  rows,
  sleep,
  type TestAccount,
} from '../support/stack.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';
import { verifyCommerce } from '../support/verify-commerce.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
/** The command is killed when the layout has reached these phases. */
const KILLED_IN: readonly LayoutPhase[] = FULL
  ? ['preparing', 'holding', 'switching', 'draining']
  : ['draining'];
const GROWTHS = 2;

describe('G1, G2, G3 and G6: more partitions under load', () => {
  const ready = readyStack();
  const client = openClickhouse();
  const database = openPostgres();
  let gateways: GatewayProcess[] = [];

  beforeAll(async () => {
    gateways = [await GatewayProcess.create(), await GatewayProcess.create()];
    for (const gateway of gateways) await gateway.start();
  });
  afterAll(async () => {
    for (const gateway of gateways) await gateway.remove();
  });

  const layout = async () => {
    const found = await readLayout(database);
    if (!found) throw new Error('no layout is recorded');
    return found;
  };
  const grow = (partitions: number, ...options: string[]) =>
    ravand('log', 'grow', '--partitions', String(partitions), '--forget', ...options);

  /** Traffic of an account through one gateway; property `seq` numbers the events of a person. */
  interface Numbered {
    account: TestAccount;
    ledger: Ledger;
    load: Load;
  }
  async function startNumbered(gateway: GatewayProcess): Promise<Numbered> {
    const account = await createAccount('growth');
    const ledger = new Ledger();
    const load = startLoad({
      ...{ ready: { ...ready, ingest_url: gateway.url }, account, ledger },
      ...{ people: 24, pause: 40 },
    });
    return { account, ledger, load };
  }

  /** Everything answered 200 is stored once, and each person's events in their order. */
  async function verifyNumbered({ account, ledger, load }: Numbered): Promise<void> {
    const report = await load.stop();
    expect(report.refusals).toEqual([]);
    const { accountId } = account;
    expect(await untilStored(client, accountId, ledger, 120_000)).toEqual({
      ...{ lost: [], doubled: [], unknown: [] },
    });
    const unordered = await rows<{ user_id: string }>(
      client,
      `SELECT user_id FROM (
         SELECT user_id, toInt64(properties['seq']) AS seq,
           row_number() OVER (PARTITION BY user_id ORDER BY _epoch, _offset, _index) - 1 AS place
         FROM events WHERE account_id = {a:UInt64})
       WHERE seq != place GROUP BY user_id`,
      { a: accountId },
    );
    expect(unordered).toEqual([]);
    const [profiles] = await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'every event in a profile' },
      async () => {
        const found = await rows<{ n: number }>(
          client,
          'SELECT sum(event_count) AS n FROM profiles FINAL WHERE account_id = {a:UInt64}',
          { a: accountId },
        );
        return found[0]?.n === ledger.durable.size ? found : undefined;
      },
    );
    expect(profiles?.n).toBe(ledger.durable.size);
    const { books } = JSON.parse(
      await eventually({ ms: 90_000, every: 1500, waitingFor: 'balanced books' }, async () => {
        const text = await ravand('status', '--json', '--account', String(accountId));
        const found = (JSON.parse(text) as { books: { stored: number; dead: number } }).books;
        return found.stored + found.dead === ledger.durable.size ? text : undefined;
      }),
    ) as { books: { published: number } };
    expect(books.published).toBe(ledger.durable.size);
  }

  /** The account has events in partitions that there were not `before`. */
  async function expectSpread(account: TestAccount | undefined, before: number): Promise<void> {
    const [spread] = await rows<{ last: number }>(
      client,
      'SELECT max(_partition) AS last FROM events WHERE account_id = {a:UInt64}',
      { a: account?.accountId },
    );
    expect(spread?.last).toBeGreaterThanOrEqual(before);
  }

  const startCommerce = async () => {
    const account = await createAccount('growth of a shop');
    const [ledger, sayings] = [new Ledger(), new Map() as SentEvents];
    const load = startCommerceLoad({
      ...{ ready, account, ledger, sentEvents: sayings, people: 10, pause: FULL ? 10 : 40 },
    });
    return { account, ledger, sayings, stop: () => load.stop() };
  };

  it.runIf(FULL)(
    'loses, doubles and reorders nothing through several gateways, also twice in a row',
    async () => {
      const { partitions, generation } = await layout();
      const shop = await startCommerce();
      const traffic = await Promise.all(gateways.map(startNumbered));
      await sleep(2000);
      for (let at = 1; at <= GROWTHS; at++) {
        await grow(partitions + at + 1);
        await sleep(2000);
      }
      expect(await layout()).toMatchObject({
        ...{ partitions: partitions + GROWTHS + 1, generation: generation + GROWTHS },
        phase: 'steady',
      });
      await Promise.all([
        ...traffic.map(verifyNumbered),
        verifyCommerce(client, shop, { growths: GROWTHS }),
      ]);
      await expectSpread(traffic[0]?.account, partitions);
    },
    testTimeout(300_000),
  );

  /** Sends an event twice, and waits until the books have the duplicate. */
  async function sendRepeated(): Promise<void> {
    const { accountId, writeKey } = await createAccount('repeats after a growth');
    const event = { type: 'track', event: 'acted', user_id: 'u', message_id: randomUUID() };
    for (let time = 0; time < 2; time++) {
      const url = `${ready.ingest_url}/v1/batch`;
      expect((await post(url, writeKey, { batch: [event] })).status).toBe(200);
    }
    await eventually({ ms: 60_000, every: 1000, waitingFor: 'the duplicate' }, async () => {
      const text = await ravand('status', '--json', '--account', String(accountId));
      const { books } = JSON.parse(text) as { books: { stored: number; duplicate: number } };
      return books.stored === 1 && books.duplicate === 1 ? true : undefined;
    });
  }

  /** Runs the command until the layout has this phase, and kills it with kill -9. */
  async function growUntil(partitions: number, phase: LayoutPhase): Promise<void> {
    const args = ['log', 'grow', '--partitions', String(partitions), '--forget'];
    const child = spawn(process.execPath, [join(CHECKOUT, 'cli/main.ts'), ...args], {
      stdio: 'ignore',
      env: process.env,
    });
    const ended = once(child, 'exit');
    await eventually({ ms: 90_000, every: 5, waitingFor: phase }, async () =>
      child.exitCode !== null || (await layout()).phase === phase ? true : undefined,
    );
    child.kill('SIGKILL');
    await ended;
  }

  it(
    'is completed by the repeated command after kill -9 of it, a gateway and the normaliser',
    async () => {
      const [gateway, other] = gateways;
      if (!gateway || !other) throw new Error('no gateways');
      const shop = await startCommerce();
      const traffic = await startNumbered(other);
      const { partitions: before } = await layout();
      let partitions = before;
      await sleep(2000);
      for (const phase of KILLED_IN) {
        partitions += 2;
        await growUntil(partitions, phase);
        await gateway.kill('SIGKILL');
        await killService('normaliser');
        await gateway.start();
        await grow(partitions);
        expect(await layout()).toMatchObject({ partitions, phase: 'steady' });
      }
      await sleep(2000);
      await Promise.all([
        verifyNumbered(traffic),
        verifyCommerce(client, shop, { killedIn: KILLED_IN }),
      ]);
      await expectSpread(traffic.account, before);
    },
    testTimeout(600_000),
  );

  it(
    'goes back when it is cancelled, and keeps the epochs as they are until then',
    async () => {
      const { partitions } = await layout();
      await growUntil(partitions + 1, 'holding');
      expect((await layout()).phase).toBe('holding');
      await expect(ravand('log', 'advance-epoch')).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining('or go back with ./ravand log grow --cancel') as string,
      });
      await ravand('log', 'grow', '--cancel');
      expect(await layout()).toMatchObject({ partitions, phase: 'steady' });
    },
    testTimeout(120_000),
  );

  it.runIf(FULL)(
    'goes back when a gateway does not hold in time',
    async () => {
      const [first, second] = gateways;
      if (!first || !second) throw new Error('no gateways');
      const { partitions } = await layout();
      const traffic = await startNumbered(first);
      process.kill(second.pid, 'SIGSTOP');
      const refused = grow(partitions + 1, '--timeout', '4').catch((error: unknown) => error);
      expect(String(((await refused) as { stderr?: string }).stderr)).toContain('was cancelled');
      process.kill(second.pid, 'SIGCONT');
      expect(await layout()).toMatchObject({ partitions, phase: 'steady' });
      await sleep(1500);
      await verifyNumbered(traffic);
    },
    testTimeout(200_000),
  );

  it.runIf(FULL)(
    'forwards what a suspended gateway publishes by the former number',
    async () => {
      const [gateway] = gateways;
      if (!gateway) throw new Error('no gateway');
      const { partitions } = await layout();
      const traffic = await startNumbered(gateway);
      await sleep(1000);
      process.kill(gateway.pid, 'SIGSTOP');
      // Requests arrive meanwhile: it reads them before it reads the layout.
      await sleep(1000);
      await grow(partitions + 1);
      process.kill(gateway.pid, 'SIGCONT');
      await sleep(3000);
      await verifyNumbered(traffic);
      const held = await gateway.metric('ravand_gateway_layout_held');
      expect(held).toBe(0);
    },
    testTimeout(200_000),
  );

  // A rebuild reads the whole log of the stack, which all tests before have filled.
  it.runIf(FULL)(
    'is rebuilt to the profiles that were folded live',
    async () => {
      const shop = await startCommerce();
      const { partitions } = await layout();
      await sleep(2000);
      await grow(partitions + 1);
      await sendRepeated();
      await sleep(2000);
      await verifyCommerce(client, shop, { rebuilt: true });
      const of = { a: shop.account.accountId };
      const [moved] = await rows<{ n: number }>(
        client,
        `SELECT count() AS n FROM (
         SELECT user_id FROM events WHERE account_id = {a:UInt64} AND user_id != '' GROUP BY user_id
         HAVING uniqExact(_partition) > 1 AND uniqExact(_epoch) > 1)`,
        of,
      );
      expect(moved?.n).toBeGreaterThan(0);
      const report = await ravand('rebuild', 'profiles', '--into', 'growth', '--compare', '--json');
      const { comparison } = JSON.parse(report) as { comparison: Record<string, unknown> };
      expect(comparison).toMatchObject({ differing: 0, examples: [] });
      const profilesOf = (table: string) =>
        rows(
          client,
          `SELECT * FROM ${table} FINAL WHERE account_id = {a:UInt64} AND event_count > 0 ORDER BY name`,
          of,
        );
      const [live, rebuilt] = [await profilesOf('profiles'), await profilesOf('profiles_growth')];
      expect(live.length).toBeGreaterThan(10);
      expect(rebuilt).toEqual(live);
      console.log(JSON.stringify({ rebuilt: live.length, inTwoGenerations: moved?.n }));
      await ravand('rebuild', 'profiles', '--into', 'growth', '--cancel');
    },
    testTimeout(300_000),
  );

  it(
    'is refused when it was not announced: the gateway goes on, the normaliser does not start',
    async () => {
      const [gateway] = gateways;
      if (!gateway) throw new Error('no gateway');
      const { partitions, created } = await layout();
      const traffic = await startNumbered(gateway);
      await withKafkaAdmin(stackKafka(), (admin) =>
        admin.createPartitions({ topicPartitions: [{ topic: TOPIC.raw, count: created + 1 }] }),
      );
      await eventually({ ms: 60_000, waitingFor: 'the gateway to notice' }, async () =>
        (await gateway.metric('ravand_gateway_layout_mismatch')) === 1 ? true : undefined,
      );
      const normaliser = new ServiceProcess('pipeline/normalise/main.ts', {
        env: { KAFKA_INSTANCE_ID: '' },
      });
      await normaliser.untilLogged(/was changed without \.\/ravand log grow: events\.raw has \d+/);
      expect(await normaliser.end('SIGTERM')).not.toBe(0);
      await verifyNumbered(traffic);
      const [used] = await rows<{ n: number }>(
        client,
        'SELECT max(_partition) AS n FROM events WHERE account_id = {a:UInt64}',
        { a: traffic.account.accountId },
      );
      expect(used?.n).toBeLessThan(partitions);
      await grow(created + 1);
      expect(await layout()).toMatchObject({ partitions: created + 1, phase: 'steady' });
      await eventually({ ms: 60_000, waitingFor: 'the gateway to be content' }, async () =>
        (await gateway.metric('ravand_gateway_layout_mismatch')) === 0 ? true : undefined,
      );
    },
    testTimeout(300_000),
  );
});
