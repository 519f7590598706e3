import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openArchive } from '../../ops/archive/archive-store.ts';
import { decodeObject } from '../../ops/archive/object-format.ts';
import { readArchive } from '../../ops/archive/restore-log.ts';
import { retry } from '../../platform/backoff.ts';
import { CONSUMER_GROUPS, TOPIC } from '../../schemas/topology.ts';
import { ownsBroker, removeData, whileStopped } from '../support/broker-data.ts';
import { post } from '../support/client.ts';
import { expectBalanced } from '../support/expect-balanced.ts';
import { Ledger } from '../support/ledger.ts';
import { readWholeTopic, topicEnds } from '../support/read-topic.ts';
import { serverSettings } from '../support/service-process.ts';
import { startS3Server, type S3Server } from '../support/s3-server.ts';
import {
  createAccount,
  eventually,
  FULL,
  ravand,
  readyStack,
  rows,
  sleep,
  type TestAccount,
} from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const execute = promisify(execFile);
const CHECKOUT = join(import.meta.dirname, '..', '..');
/** With downloads of the S3 server where it is not installed yet. */
const START_MS = 300_000;
const TEST_MS = 600_000;
const KILLS = FULL ? 8 : 1;
/** What writes the log or reads it. */
const SERVICES = [
  ...new Set([
    ...['ingest-gateway', 'management-api', 'planner', 'metering'],
    ...CONSUMER_GROUPS.map(({ service }) => service),
  ]),
];

const client = openClickhouse();
const ledger = new Ledger();
let account: TestAccount;
let server: S3Server;

beforeAll(async () => {
  server = await startS3Server();
  Object.assign(process.env, {
    ARCHIVE_S3_URL: `${server.url}/log`,
    ARCHIVE_S3_ACCESS_KEY: 'test',
    ARCHIVE_S3_SECRET_KEY: 'test',
    // Many objects of few events.
    ARCHIVE_OBJECT_BYTES: '8kB',
  });
  account = await createAccount('archive');
}, START_MS);

afterAll(async () => {
  server.stop();
  await client.close();
});

async function send(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 20) {
    const batch = Array.from({ length: Math.min(20, left) }, (_, at) => ({
      ...{ type: 'track', event: 'acted', user_id: `user ${at}`, message_id: randomUUID() },
      properties: { note: 'x'.repeat(500) },
    }));
    const url = `${readyStack().ingest_url}/v1/batch`;
    // Also to a gateway that has just started: whoever is hung up on sends the same ids again.
    const { status } = await retry({ attempts: 5, base: 500, cap: 5000 }, () =>
      post(url, account.writeKey, { batch }),
    );
    expect(status).toBe(200);
    ledger.answered(batch.map(({ message_id }) => message_id));
  }
}

async function untilStored(): Promise<void> {
  await eventually({ ms: 120_000, waitingFor: 'the events to be stored' }, async () => {
    const [found] = await rows<{ n: number; ids: number }>(
      client,
      'SELECT count() AS n, uniqExact(message_id) AS ids FROM events WHERE account_id = {a:UInt64}',
      { a: account.accountId },
    );
    expect(found?.n).toBe(found?.ids);
    return found?.ids === ledger.durable.size ? true : undefined;
  });
}

/** Runs a command, and kills it with kill -9 after `ms` unless it ended before. */
async function killed(ms: number, ...words: string[]): Promise<void> {
  const child = spawn(process.execPath, [join(CHECKOUT, 'cli/main.ts'), ...words], {
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  await Promise.race([ended, sleep(ms)]);
  child.kill('SIGKILL');
  await ended;
}

interface Status {
  partitions: { topic: string; from: number; to: number; end: number; missing: number }[];
}

async function expectWhole(): Promise<void> {
  const { partitions } = JSON.parse(await ravand('archive', 'status', '--json')) as Status;
  expect(partitions.filter(({ missing, to, end }) => missing > 0 || to !== end)).toEqual([]);
  expect(partitions.filter(({ topic }) => topic === TOPIC.raw).length).toBeGreaterThan(0);
}

/** Every record of the archive, each offset once. */
async function archivedRecords(topic: string): Promise<string[]> {
  const { store } = openArchive(process.env, new AbortController().signal);
  const found: string[] = [];
  for (const { plans } of (await readArchive(store)).filter((one) => one.topic === topic))
    for (const [partition, { pieces }] of [...plans].sort(([a], [b]) => a - b))
      for (const { name, from, to } of pieces)
        for (const { offset, value } of await decodeObject(await store.get(name)))
          if (offset >= from && offset < to)
            found.push(`${partition}/${offset} ${value?.toString('base64') ?? ''}`);
  return found;
}

async function loggedRecords(topic: string): Promise<string[]> {
  const found = await readWholeTopic(topic);
  return found.map(
    ({ partition, offset, value }) => `${partition}/${offset} ${value.toString('base64')}`,
  );
}

const each = (verb: 'stop' | 'start', services: readonly string[]) =>
  Promise.all(services.map((service) => ravand(verb, service)));

describe('the archive of the log', () => {
  it(
    'holds every record once, byte for byte, also when the command is killed at any moment',
    async () => {
      for (let kill = 0; kill < KILLS; kill++) {
        await send(100);
        await killed(600 + Math.random() * 2500, 'archive');
      }
      await send(100);
      await untilStored();
      await Promise.all([ravand('archive'), ravand('archive')]);
      await ravand('archive');
      await expectWhole();
      expect(await archivedRecords(TOPIC.raw)).toEqual(await loggedRecords(TOPIC.raw));
    },
    TEST_MS,
  );

  it(
    'brings back a Kafka that is lost, from which the events are rebuilt with equal counts',
    async (context) => {
      if (!ownsBroker()) return context.skip('Kafka is no process of this stack');
      await each('stop', SERVICES);
      await ravand('archive');
      const before = await topicEnds(TOPIC.raw);
      await whileStopped(removeData);
      await killed(1500 + Math.random() * 1500, 'archive', 'restore');
      await ravand('archive', 'restore');
      expect(await topicEnds(TOPIC.raw)).toEqual(before);
      expect(await ravand('log', 'advance-epoch')).toContain('nothing to do');
      await each('start', SERVICES);
      await send(60);
      await untilStored();
      await client.command({
        query: 'DELETE FROM events WHERE account_id = {a:UInt64}',
        query_params: { a: account.accountId },
        clickhouse_settings: { lightweight_deletes_sync: '2' },
      });
      await ravand('rebuild', 'events', '--into', 'archived', '--swap');
      await untilStored();
      await expectBalanced(account, ledger);
      await ravand('archive');
      await expectWhole();
    },
    TEST_MS,
  );

  it.runIf(FULL)(
    'is searched for an erased person, who is in it until the log was rewritten and archived',
    async () => {
      const { accountId, writeKey } = await createAccount('archive of an erased person');
      const verified = async (id: number) => {
        const args = [join(CHECKOUT, 'cli/main.ts'), 'erase', 'verify', String(id), '--json'];
        const { stdout } = await execute(process.execPath, args).catch((error: unknown) =>
          // Exit code 1: something was found.
          Promise.resolve(error as { stdout: string }),
        );
        const { findings } = JSON.parse(stdout) as {
          findings: { store: string; place: string; count: number }[];
        };
        return findings.filter(({ store }) => store === 'archive').map(({ place }) => place);
      };
      const person = { type: 'track', event: 'acted', user_id: 'زهرا احمدی' };
      const { status } = await post(`${readyStack().ingest_url}/v1/track`, writeKey, person);
      expect(status).toBe(200);
      await eventually({ ms: 120_000, waitingFor: 'the event to be stored' }, async () => {
        const query = 'SELECT count() AS n FROM events WHERE account_id = {a:UInt64}';
        const [found] = await rows<{ n: number }>(client, query, { a: accountId });
        return found?.n === 1 ? true : undefined;
      });
      await ravand('archive');
      const erased = [
        'erase',
        '--account',
        String(accountId),
        '--user-id',
        person.user_id,
        '--json',
      ];
      const { id } = JSON.parse(await ravand(...erased)) as { id: number };
      const places = await verified(id);
      expect(places.some((place) => place.startsWith(TOPIC.raw))).toBe(true);
      expect(places.some((place) => place.startsWith(TOPIC.normalised))).toBe(true);
      await ravand('erase', 'rewrite');
      expect(await verified(id)).toEqual(places);
      await ravand('archive');
      expect(await verified(id)).toEqual([]);
    },
    TEST_MS,
  );

  it.runIf(FULL)(
    'brings everything back that is lost at once, with a backup of PostgreSQL',
    async (context) => {
      if (!ownsBroker()) return context.skip('the servers are no processes of this stack');
      const servers = ['kafka', 'clickhouse', 'redis', 'postgres'];
      const services = [...SERVICES, 'retention', 'control-plane'];
      const data = (name: string) => join(process.env['RAVAND_HOME'] ?? '', 'data', name);
      await send(60);
      await untilStored();
      await each('stop', services);
      await ravand('archive');
      await each('stop', servers);
      await rename(data('postgres'), data('backup'));
      for (const name of servers) {
        await rm(data(name), { recursive: true, force: true });
        if (name !== 'postgres') await mkdir(data(name));
      }
      await rename(data('backup'), data('postgres'));
      await each('start', servers);
      await execute(
        process.execPath,
        [join(CHECKOUT, 'deploy/local/setup/migrate-clickhouse.ts')],
        {
          env: { ...process.env, ...serverSettings(readyStack()) },
        },
      );
      await ravand('archive', 'restore');
      expect(await ravand('log', 'advance-epoch', '--dry-run')).toContain('nothing to do');
      await ravand('log', 'after-restore');
      const again = ['--into', 'again', '--swap'];
      await ravand('rebuild', 'events', ...again);
      await ravand('rebuild', 'profiles', ...again);
      await ravand('rebuild', 'identities', ...again);
      await ravand('rebuild', 'catalogue', ...again);
      await ravand('rebuild', 'quality', ...again);
      await ravand('rebuild', 'messages', ...again);
      await ravand('rebuild', 'addresses', '--compare', '--swap');
      await each('start', services);
      await send(60);
      await untilStored();
      await expectBalanced(account, ledger);
      await ravand('profiles', 'check', '--account', String(account.accountId));
    },
    TEST_MS,
  );

  // Afterwards ClickHouse alone has some events.
  it.runIf(FULL)(
    'brings Kafka back without its last minutes: what was stored stays, once, and the books balance',
    async (context) => {
      if (!ownsBroker()) return context.skip('Kafka is no process of this stack');
      await send(40);
      await untilStored();
      await each('stop', SERVICES);
      await whileStopped(removeData);
      await ravand('archive', 'restore');
      expect(await ravand('log', 'advance-epoch')).toContain('went back');
      await each('start', SERVICES);
      await send(40);
      await untilStored();
      await expectBalanced(account, ledger);
      await ravand('archive');
      await expectWhole();
    },
    TEST_MS,
  );
});
