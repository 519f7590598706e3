import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConcurrencyLimit } from '../../../pipeline/relays/concurrency-limit.ts';
import { DeliveryLog } from '../../../pipeline/relays/delivery-log.ts';
import { EndpointQueues } from '../../../pipeline/relays/endpoint-queues.ts';
import { FirstAttempts } from '../../../pipeline/relays/first-attempts.ts';
import { RELAY_LIMITS } from '../../../pipeline/relays/limits.ts';
import { relayMetrics } from '../../../pipeline/relays/metrics.ts';
import { OutcomeWriter } from '../../../pipeline/relays/outcome-writer.ts';
import { relayPartitionTask } from '../../../pipeline/relays/partition-task.ts';
import type { Relay } from '../../../pipeline/relays/relay.ts';
import { RelayStore } from '../../../pipeline/relays/store.ts';
import { message, relay, row } from '../../../pipeline/relays/testing/records.ts';
import { WakeSignal } from '../../../platform/wake-signal.ts';
import { connectPostgres, type Database } from '../../../platform/postgres/pool.ts';
import { createAccount, readyStack } from '../../support/stack.ts';

const RELAYS = 64;
const QUOTES = 4_200_000;
const partition = 1_000_000 + Math.floor(Math.random() * 1e9);
const log = pino({ level: 'silent' });
let database: Database;
let accountId: number;

beforeAll(async () => {
  const url = readyStack().database_url;
  database = connectPostgres({ url, log, name: 'relay-large-event-test', max: 2 });
  ({ accountId } = await createAccount('large event'));
});
afterAll(async () => {
  await database.query('DELETE FROM relays WHERE account_id = $1', [accountId]);
  await database.query('DELETE FROM relay_positions WHERE partition = $1', [partition]);
  await database.end();
});

it('an event of 4.2 MB for 64 relays waits in the queue of each, and later events are delivered (relays-panel 1)', async () => {
  const relays: Relay[] = [];
  for (let n = 0; n < RELAYS; n++) {
    const { rows } = await database.query<{ id: string }>(
      `INSERT INTO relays (account_id, name, url, enabled) VALUES ($1, $2, 'https://x.example/', false) RETURNING id`,
      [accountId, randomUUID()],
    );
    relays.push(relay(Number(rows[0]?.id), { accountId }));
  }
  const [now, random, limits] = [() => Date.now(), () => 0, RELAY_LIMITS];
  const { signal } = new AbortController();
  const metrics = relayMetrics(new Registry(), { phases: () => [], attemptsNow: () => 0 });
  const store = new RelayStore(database, `test/${randomUUID()}`);
  const bounds = { rows: 1000, bytes: 2 ** 30 };
  const deliveryLog = new DeliveryLog({ store, metrics, limits, bounds, now });
  const queues = new EndpointQueues({
    ...{ limits, concurrency: new ConcurrencyLimit(limits.attempts), now, random },
    attempt: () => Promise.resolve({ kind: 'succeeded', status: 204 }),
    onPhase: () => undefined,
  });
  queues.update(relays);
  const outcomes = new OutcomeWriter({ store, deliveryLog, log, signal });
  const firstAttempts = new FirstAttempts({
    ...{ queues, outcomes, metrics, limits, wakeSignal: new WakeSignal() },
  });
  const task = await relayPartitionTask({
    definitions: { asOf: () => Promise.resolve(new Map([[accountId, relays]])) },
    ...{ store, firstAttempts, deliveryLog, metrics, limits, log, partition, signal },
  });
  const of = { account_id: accountId, _partition: partition };
  const properties = { quotes: '"'.repeat(QUOTES) };
  const large = row(1, { ...of, properties, property_numbers: {} });
  expect(await task.process([message(4, [row(0, of), large, row(2, of)])])).toBe(5);

  const { rows } = await database.query<{ message_id: string; status: string; count: number }>(
    `SELECT message_id, status, count(*)::int AS count FROM relay_deliveries WHERE account_id = $1
     GROUP BY message_id, status ORDER BY message_id`,
    [accountId],
  );
  expect(rows).toEqual([
    { message_id: 'm0', status: 'succeeded', count: RELAYS },
    { message_id: 'm1', status: 'pending', count: RELAYS },
    { message_id: 'm2', status: 'succeeded', count: RELAYS },
  ]);
  expect(await store.position(partition)).toEqual({ epoch: 0, offset: 2, index: 0 });
  const endpoints = relays.map(({ id }) => ({
    ...{ relayId: id, accountId, isQuick: true, capacity: 16 },
  }));
  const due = await store.due({ endpoints, limit: 1000 });
  expect(due.map(({ bytes }) => bytes >= 2 * QUOTES)).toEqual(Array(RELAYS).fill(true));
}, 300_000);
