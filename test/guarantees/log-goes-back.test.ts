import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReconciliationCounts } from '../../platform/meters/read-reconciliation.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { rawValuesIn } from '../../schemas/raw-batch.ts';
import { TOPIC } from '../../schemas/topology.ts';
import {
  copyData,
  ownsBroker,
  restoreCopy,
  truncatePartition,
  whileStopped,
} from '../support/broker-data.ts';
import { post } from '../support/client.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { readWholeTopic, topicEnds } from '../support/read-topic.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  ravand,
  readyStack,
  rows,
  serviceStatus,
  sleep,
  type TestAccount,
} from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const PEOPLE = 12;
const EVENT_TOPICS = [TOPIC.raw, TOPIC.normalised, TOPIC.verdicts, TOPIC.outcomes];
const READERS = ['normaliser', 'events-sink', 'profiles-sink', 'catalogue-sink', 'identities-sink'];
const ROUNDS = FULL ? 8 : 0;
/** Kafka and every reader are restarted several times. */
const TEST_MS = 600_000;

const client = openClickhouse();
let account: TestAccount;
let isOwn = false;

beforeAll(async () => {
  isOwn = ownsBroker();
  account = await createAccount('log goes back');
});

afterAll(() => client.close());

/** Sends events of `PEOPLE` people in requests of three; every request is answered 200. */
async function send(ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += 3) {
    const batch = ids.slice(from, from + 3).map((message_id) => ({
      ...{ type: 'track', event: 'acted', message_id },
      user_id: `user ${parseInt(message_id.slice(0, 6), 16) % PEOPLE}`,
    }));
    await eventually({ ms: 60_000, waitingFor: 'a request to be answered 200' }, async () => {
      const url = `${readyStack().ingest_url}/v1/batch`;
      return (await post(url, account.writeKey, { batch })).status === 200 ? true : undefined;
    });
  }
}

const newIds = (n: number) => Array.from({ length: n }, () => randomUUID());

async function storedIds(): Promise<Map<string, number>> {
  const found = await rows<{ id: string; n: number }>(
    client,
    'SELECT message_id AS id, count() AS n FROM events WHERE account_id = {a:UInt64} GROUP BY id',
    { a: account.accountId },
  );
  return new Map(found.map(({ id, n }) => [id, n]));
}

async function untilStored(ids: readonly string[], ms = 120_000): Promise<void> {
  await eventually({ ms, every: 1000, waitingFor: 'the events to be stored' }, async () => {
    const stored = await storedIds();
    const missing = ids.filter((id) => !stored.has(id));
    if (missing.length > 0) throw new Error(`${missing.length} of ${ids.length} are missing`);
    return true;
  });
}

/** Message ids of the account that are in the raw log now. */
async function loggedIds(): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const { value } of await readWholeTopic(TOPIC.raw)) {
    if (!value.includes('acted')) continue;
    for (const record of rawValuesIn(value).map((one) => rawRecordCodec.decode(one)))
      if (record.account_id === account.accountId)
        for (const { message_id } of record.items) ids.add(message_id);
  }
  return ids;
}

/** Profiles hold exactly the stored events, each once. */
async function untilProfilesMatch(): Promise<void> {
  const counts = (query: string) =>
    rows<{ name: string; n: number }>(client, query, { a: account.accountId });
  await eventually({ ms: 90_000, every: 1000, waitingFor: 'the profiles to match' }, async () => {
    const events = await counts(
      'SELECT user_id AS name, count() AS n FROM events WHERE account_id = {a:UInt64} GROUP BY name ORDER BY name',
    );
    const profiles = await counts(
      'SELECT name, event_count AS n FROM profiles FINAL WHERE account_id = {a:UInt64} ORDER BY name',
    );
    expect(profiles).toEqual(events);
    return true;
  });
}

async function balancedBooks(): Promise<ReconciliationCounts> {
  return eventually({ ms: 90_000, every: 1500, waitingFor: 'balanced books' }, async () => {
    const line = ['status', '--json', '--account', String(account.accountId)];
    const { books } = JSON.parse(await ravand(...line)) as { books: ReconciliationCounts };
    const { published, stored, dead, lost, in_flight: inFlight } = books;
    if (inFlight !== 0) throw new Error(JSON.stringify(books));
    expect(published).toBe(stored + dead + lost);
    return books;
  });
}

async function notReady(service: string): Promise<string> {
  const { admin_url: url } = await serviceStatus(service);
  const answer = await fetch(`${url}/readyz`);
  return answer.status === 503 ? answer.text() : '';
}

async function untilRefused(service: string): Promise<void> {
  await eventually({ ms: 120_000, waitingFor: `${service} to refuse the log` }, async () =>
    (await notReady(service)).includes('./ravand log advance-epoch') ? true : undefined,
  );
}

interface Advance {
  state: string;
  epochs: { topic: string; partition: number; first_offset: number; reason: string }[];
}

const advance = async (...options: string[]) =>
  JSON.parse(await ravand('log', 'advance-epoch', '--json', ...options)) as Advance;

/** Keeps `share` of the records of each partition. */
async function truncate(topics: readonly string[], share: (topic: string) => number) {
  const ends = new Map<string, Map<number, number>>();
  for (const topic of topics) ends.set(topic, await topicEnds(topic));
  await whileStopped(async () => {
    for (const [topic, partitions] of ends)
      for (const [partition, end] of partitions)
        if (end > 0) await truncatePartition(topic, partition, Math.floor(end * share(topic)));
  });
}

/** Everything in the log is stored once, and what is sent again, too. */
async function expectExact(known: readonly string[]): Promise<ReconciliationCounts> {
  const logged = await loggedIds();
  await untilStored([...logged]);
  await send(known);
  await untilStored(known);
  await untilProfilesMatch();
  const books = await balancedBooks();
  const doubled = [...(await storedIds())].filter(([, n]) => n !== 1);
  expect(doubled).toEqual([]);
  for (const service of READERS)
    await eventually({ ms: 60_000, waitingFor: `${service} to be ready` }, async () =>
      (await notReady(service)) === '' ? true : undefined,
    );
  expect((await advance('--dry-run')).state).toBe('nothing to do');
  return books;
}

describe('a log that goes back', () => {
  it.runIf(FULL)(
    'is refused, and read on without loss after advance-epoch: it ends before the positions',
    async (context) => {
      if (!isOwn) return context.skip('Kafka is no process of this stack');
      const before = newIds(90);
      await send(before);
      await untilStored(before);
      await untilProfilesMatch();
      await truncate(EVENT_TOPICS, (topic) => (topic === TOPIC.normalised ? 0.4 : 0.6));
      await untilRefused('normaliser');
      await untilRefused('events-sink');
      const after = newIds(6);
      await send(after);
      const planned = await advance('--dry-run');
      expect(planned.state).toBe('planned');
      const done = await advance();
      expect(done.state).toBe('advanced');
      expect(done.epochs.filter(({ topic }) => topic === TOPIC.raw)).not.toEqual([]);
      await expectExact([...before, ...after]);
    },
    TEST_MS,
  );

  it.runIf(FULL)(
    'is refused when its offsets were used again before anybody looked',
    async (context) => {
      if (!isOwn) return context.skip('Kafka is no process of this stack');
      const before = newIds(60);
      await send(before);
      await untilStored(before);
      await balancedBooks();
      // Published, counted and never stored.
      await ravand('stop', 'normaliser');
      const lost = newIds(30);
      await send(lost);
      await eventually({ ms: 60_000, waitingFor: 'the events to be counted' }, async () => {
        const line = ['status', '--json', '--account', String(account.accountId)];
        const { books } = JSON.parse(await ravand(...line)) as { books: ReconciliationCounts };
        return books.in_flight === lost.length ? true : undefined;
      });
      for (const service of [...READERS, 'metering'])
        if (service !== 'normaliser') await ravand('stop', service);
      const ends = await topicEnds(TOPIC.raw);
      await whileStopped(async () => {
        for (const [partition, end] of ends)
          if (end > 0) await truncatePartition(TOPIC.raw, partition, Math.floor(end / 2));
      });
      const after = newIds(120);
      await send(after);
      const logged = await loggedIds();
      const isLost = lost.filter((id) => !logged.has(id));
      expect(isLost.length).toBeGreaterThan(0);
      for (const service of [...READERS, 'metering']) await ravand('start', service);
      await untilRefused('normaliser');
      expect((await advance()).state).toBe('advanced');
      await untilStored([...(await loggedIds())]);
      expect((await balancedBooks()).lost).toBe(isLost.length);
      await expectExact([...before, ...lost, ...after]);
    },
    TEST_MS,
  );

  it(
    'is refused when a copy of the data from before is restored, of which a part is gone',
    async (context) => {
      if (!isOwn) return context.skip('Kafka is no process of this stack');
      const before = newIds(30);
      await send(before);
      await untilStored(before);
      let copy = '';
      await whileStopped(async () => {
        copy = await copyData();
      });
      const later = newIds(60);
      await send(later);
      await untilStored(later);
      await untilProfilesMatch();
      const ends = await topicEnds(TOPIC.normalised);
      await whileStopped(async () => {
        await restoreCopy(copy);
        for (const partition of ends.keys())
          await truncatePartition(TOPIC.normalised, partition, 1);
      });
      const after = newIds(90);
      await send(after);
      await untilRefused('normaliser');
      await untilRefused('events-sink');
      const done = await advance();
      expect(done.state).toBe('advanced');
      const raw = done.epochs.filter(({ topic }) => topic === TOPIC.raw);
      expect(raw.map(({ reason }) => reason)).toContain('went_back');
      await expectExact([...before, ...later, ...after]);
    },
    TEST_MS,
  );

  it.runIf(ROUNDS > 0)(
    `${ROUNDS} times in a row, with kills of the command and of the services at any moment`,
    async (context) => {
      if (!isOwn) return context.skip('Kafka is no process of this stack');
      const known: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const ids = newIds(60);
        await send(ids);
        known.push(...ids);
        await untilStored(ids);
        const kept = EVENT_TOPICS.map(() => (Math.random() < 0.3 ? 1 : Math.random()));
        await truncate(EVENT_TOPICS, (topic) => kept[EVENT_TOPICS.indexOf(topic as never)] ?? 1);
        const after = newIds(Math.floor(Math.random() * 90));
        await send(after);
        known.push(...after);
        for (let kill = 0; kill < 3; kill++) {
          if (Math.random() < 0.5)
            await killService(READERS[Math.floor(Math.random() * READERS.length)] ?? '');
          await killedCommand(500 + Math.random() * 15_000);
        }
        await advance();
        await expectExact(known);
      }
    },
    testTimeout(3_600_000),
  );
});

/** Runs advance-epoch and kills it with kill -9 after `ms`, unless it ended before. */
async function killedCommand(ms: number): Promise<void> {
  const args = [join(CHECKOUT, 'cli/main.ts'), 'log', 'advance-epoch'];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  await Promise.race([ended, sleep(ms)]);
  child.kill('SIGKILL');
  await ended;
}
