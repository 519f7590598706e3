import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attemptWith } from '../../../pipeline/relays/attempt.ts';
import { ConcurrencyLimit } from '../../../pipeline/relays/concurrency-limit.ts';
import type { Outcome } from '../../../pipeline/relays/delivery.ts';
import { DeliveryLog } from '../../../pipeline/relays/delivery-log.ts';
import { EndpointQueues } from '../../../pipeline/relays/endpoint-queues.ts';
import { RELAY_LIMITS } from '../../../pipeline/relays/limits.ts';
import { relayMetrics } from '../../../pipeline/relays/metrics.ts';
import { OutcomeWriter } from '../../../pipeline/relays/outcome-writer.ts';
import type { Relay } from '../../../pipeline/relays/relay.ts';
import { retryLoop } from '../../../pipeline/relays/retry-loop.ts';
import { RelayStore } from '../../../pipeline/relays/store.ts';
import { WakeSignal } from '../../../platform/wake-signal.ts';
import { AllowedHosts } from '../../../platform/outbound/allowed-hosts.ts';
import { OutboundClient } from '../../../platform/outbound/client.ts';
import { connectPostgres, type Database } from '../../../platform/postgres/pool.ts';
import type { PartitionPosition } from '../../../schemas/log-position.ts';
import { BEFORE_FIRST } from '../../../schemas/log-position.ts';
import { createAccount, eventually, readyStack, sleep } from '../../support/stack.ts';

const SLOW_ENDPOINTS = 90;
const ROWS_PER_SLOW_ENDPOINT = 20;
const PROBES = 150;
/** Below this, an undisturbed wait is the pause between two claims and the machine's noise, ms. */
const FLOOR_MS = 500;
const DUE_NOW: Outcome = { kind: 'waiting', delay: 0, error: null };

const log = pino({ level: 'silent' });
const partition = 1_000_000 + Math.floor(Math.random() * 1e9);
const arrivals = new Map<string, number>();
const stop = new AbortController();
const relays: Relay[] = [];
let database: Database;
let store: RelayStore;
let at: PartitionPosition = BEFORE_FIRST;
const servers: Server[] = [];

/** An endpoint on 127.0.0.1 that answers 204 after `ms`. */
async function endpoint(ms: number): Promise<number> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      arrivals.set(Buffer.concat(chunks).toString(), performance.now());
      setTimeout(() => response.writeHead(204).end(), ms);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A relay that the running service ignores: disabled in the table, enabled here. */
async function saveRelay(accountId: number, port: number): Promise<Relay> {
  const url = `http://127.0.0.1:${port}/`;
  const { rows } = await database.query<{ id: string }>(
    'INSERT INTO relays (account_id, name, url, enabled) VALUES ($1, $2, $3, false) RETURNING id',
    [accountId, randomUUID(), url],
  );
  const id = Number(rows[0]?.id);
  const relay: Relay = { id, accountId, url, secret: { kind: 'none' }, matches: () => true };
  relays.push(relay);
  return relay;
}

/** Due rows in the queue. */
async function addRows(rows: readonly { relay: Relay; payload: string }[]): Promise<void> {
  const from = at;
  at = { epoch: 0, offset: from.offset + 1, index: 0 };
  const position = { ...at, partition };
  const results = rows.map(({ relay: { id, accountId }, payload }, index) => ({
    delivery: {
      ...{ relayId: id, accountId, position: { ...position, index } },
      ...{ messageId: 'm', event: 'e', payload, attempts: 0 },
    },
    outcome: DUE_NOW,
  }));
  await store.complete({ partition, from, to: at, results, lease: 1000 });
}

/** Waits of the rows of a healthy endpoint until they arrive, ms, at the 99th percentile. */
async function p99(healthy: Relay, name: string): Promise<number> {
  const dueAt = new Map<string, number>();
  for (let n = 0; n < PROBES; n++) {
    dueAt.set(`${name}-${n}`, performance.now());
    await addRows([{ relay: healthy, payload: `${name}-${n}` }]);
    await sleep(20);
  }
  await eventually({ ms: 60_000, waitingFor: 'the rows of the healthy endpoint' }, () =>
    Promise.resolve([...dueAt.keys()].every((key) => arrivals.has(key)) ? true : undefined),
  );
  const waits = [...dueAt].map(([key, due]) => (arrivals.get(key) ?? 0) - due);
  return waits.toSorted((a, b) => a - b)[Math.floor(PROBES * 0.99)] ?? 0;
}

beforeAll(() => {
  const url = readyStack().database_url;
  database = connectPostgres({ url, log, name: 'relay-fairness-test', max: 4 });
  store = new RelayStore(database, `test/${randomUUID()}`);
});
afterAll(async () => {
  stop.abort(new Error('over'));
  for (const server of servers) server.closeAllConnections();
  await database.query('DELETE FROM relays WHERE id = ANY($1::bigint[])', [
    relays.map(({ id }) => id),
  ]);
  await database.query('DELETE FROM relay_positions WHERE partition = $1', [partition]);
  await database.end();
});

it('90 endpoints that answer after 5 s do not delay the queued rows of another account (relays-panel 2)', async () => {
  const [hostileAccount, account] = [await createAccount('slow'), await createAccount('healthy')];
  const [slowPort, port] = [await endpoint(5000), await endpoint(5)];
  const healthy = await saveRelay(account.accountId, port);
  const slow: Relay[] = [];
  for (let n = 0; n < SLOW_ENDPOINTS; n++)
    slow.push(await saveRelay(hostileAccount.accountId, slowPort));

  const [now, random] = [() => Date.now(), () => Math.random()];
  const allowed = new AllowedHosts([`127.0.0.1:${slowPort}`, `127.0.0.1:${port}`]);
  const client = new OutboundClient({ allowed, timeout: 15_000, excerptBytes: 500 });
  const metrics = relayMetrics(new Registry(), { phases: () => [], attemptsNow: () => 0 });
  const limits = RELAY_LIMITS;
  const concurrency = new ConcurrencyLimit(limits.attempts);
  const attempt = attemptWith({ client, metrics, now, random });
  const queues = new EndpointQueues({
    ...{ limits, concurrency, attempt, now, random, onPhase: () => undefined },
  });
  queues.update(relays);
  const bounds = { rows: 1_000_000, bytes: 2 ** 30 };
  const deliveryLog = new DeliveryLog({ store, metrics, limits, bounds, now });
  const { signal } = stop;
  const outcomes = new OutcomeWriter({ store, deliveryLog, log, signal });
  const running = retryLoop({
    ...{ store, queues, outcomes, concurrency, limits, log, now, signal },
    definitions: { asOf: () => Promise.resolve(new Map<number, Relay[]>()) },
    wakeSignal: new WakeSignal(),
  });

  await p99(healthy, 'first');
  const undisturbed = await p99(healthy, 'alone');
  for (const relay of slow)
    await addRows(
      Array.from({ length: ROWS_PER_SLOW_ENDPOINT }, (_, n) => ({ relay, payload: `slow-${n}` })),
    );
  await eventually({ ms: 30_000, waitingFor: 'attempts of the slow endpoints' }, () =>
    Promise.resolve(concurrency.inUse >= limits.attempts / 4 ? true : undefined),
  );
  const disturbed = await p99(healthy, 'beside');
  console.log(JSON.stringify({ p99_ms: { undisturbed, disturbed } }));
  expect(disturbed).toBeLessThanOrEqual(3 * Math.max(FLOOR_MS, undisturbed));
  // The slow account uses its quarter of the attempts, and no more.
  expect(concurrency.inUse).toBeLessThanOrEqual(limits.attempts / 4 + 16);
  stop.abort(new Error('over'));
  await running;
  client.close();
}, 180_000);
