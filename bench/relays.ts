/**
 * node bench/relays.ts [--deliveries 20000] [--relays 4]
 *
 * Deliveries per second of the relay process on one core: decoding row batches, matching, payload,
 * signature, the guarded client, the log and the position in PostgreSQL; compared with a loop of
 * node:http that posts the same bytes to the same endpoint with the same concurrency. Excludes
 * reading from Kafka. Finds PostgreSQL through RAVAND_HOME, uses an account of its own, and deletes
 * its relays.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { relayPayload } from '../events/relays/payload.ts';
import { attemptWith } from '../pipeline/relays/attempt.ts';
import { DeliveryLog } from '../pipeline/relays/delivery-log.ts';
import { WakeSignal } from '../platform/wake-signal.ts';
import { FirstAttempts } from '../pipeline/relays/first-attempts.ts';
import { EndpointQueues } from '../pipeline/relays/endpoint-queues.ts';
import { RELAY_LIMITS } from '../pipeline/relays/limits.ts';
import { relayMetrics } from '../pipeline/relays/metrics.ts';
import { OutcomeWriter } from '../pipeline/relays/outcome-writer.ts';
import type { Relay } from '../pipeline/relays/relay.ts';
import { ConcurrencyLimit } from '../pipeline/relays/concurrency-limit.ts';
import { RelayStore } from '../pipeline/relays/store.ts';
import { relayPartitionTask } from '../pipeline/relays/partition-task.ts';
import { AllowedHosts } from '../platform/outbound/allowed-hosts.ts';
import { OutboundClient } from '../platform/outbound/client.ts';
import type { ConsumedMessage } from '../platform/kafka/consumer-types.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import { readyStack } from '../test/support/stack.ts';
import { seedAccount } from './account.ts';
import { orderRow, rowBatches } from './relays/row-batches.ts';
import { numericOptions } from './numbers.ts';

const { deliveries, relays: relayCount } = numericOptions('relays', {
  deliveries: 20_000,
  relays: 4,
});
const events = Math.ceil(deliveries / relayCount);
const partition = 1_000_000 + (randomBytes(4).readUInt32LE() >> 2);

const { database_url } = readyStack();
const log = pino({ level: 'warn' });
const database = connectPostgres({ url: database_url, log, name: 'ravand-bench-relays', max: 4 });
const { accountId } = await seedAccount(database_url, `bench relays ${randomUUID()}`);
const receiver = fork(join(import.meta.dirname, 'relays/receiver-process.ts'));
const { port } = await nextMessage<{ port: number }>(receiver);
const url = `http://127.0.0.1:${port}/hook`;

/** Statements of the relay code. */
const counted = { statements: 0 };

interface Measured {
  what: string;
  count: number;
  took: number;
  cpu: number;
}

try {
  const [relays, messages] = [await insertRelays(), rowBatches({ accountId, partition, events })];
  const relayCode = () => deliverAll(relays, messages);
  const measured = [
    await measure('bare node:http loop', bareLoop),
    await measure('relays', relayCode),
    await measure('bare node:http loop, again', bareLoop),
  ];
  console.table(
    measured.map(({ what, count, took, cpu }) => ({
      what,
      deliveries: count,
      'deliveries/s': Math.round((count / took) * 1000),
      'CPU µs a delivery': Math.round((cpu / count) * 1000),
      'deliveries/s a core of the process': Math.round((count / cpu) * 1000),
    })),
  );
  const { rows: logged } = await database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM relay_deliveries WHERE account_id = $1',
    [accountId],
  );
  console.log(
    JSON.stringify({ postgres: { statements: counted.statements, rows: logged[0]?.count } }),
  );
  const received = nextMessage<{ requests: number }>(receiver);
  receiver.send('report');
  console.log(
    JSON.stringify({
      sent: measured.reduce((sum, { count }) => sum + count, 0),
      received: (await received).requests,
    }),
  );
} finally {
  await database.query('DELETE FROM relays WHERE account_id = $1', [accountId]);
  await database.query('DELETE FROM relay_positions WHERE partition = $1', [partition]);
  await database.end();
  receiver.disconnect();
}
process.exit(0);

async function measure(what: string, work: () => Promise<number>): Promise<Measured> {
  const [began, before] = [performance.now(), process.cpuUsage()];
  const count = await work();
  const { user, system } = process.cpuUsage(before);
  return { what, count, took: performance.now() - began, cpu: (user + system) / 1000 };
}

/** Relays that the running service ignores: disabled in the table, enabled here. */
async function insertRelays(): Promise<Relay[]> {
  return Promise.all(
    Array.from({ length: relayCount }, async (): Promise<Relay> => {
      const { rows } = await database.query<{ id: string }>(
        'INSERT INTO relays (account_id, name, url, enabled) VALUES ($1, $2, $3, false) RETURNING id',
        [...[accountId, randomUUID(), url]],
      );
      return {
        id: Number(rows[0]?.id),
        accountId,
        url,
        secret: { kind: 'opened', secret: 'bench' },
        matches: ({ event }) => event === 'order_completed',
      };
    }),
  );
}

async function deliverAll(
  relays: readonly Relay[],
  messages: readonly ConsumedMessage[],
): Promise<number> {
  const limits = { ...RELAY_LIMITS, firstAttemptWait: 10_000 };
  const client = new OutboundClient({
    allowed: new AllowedHosts([`127.0.0.1:${port}`]),
    timeout: 15_000,
    excerptBytes: 500,
  });
  const [now, random] = [() => Date.now(), () => Math.random()];
  const metrics = relayMetrics(new Registry(), { phases: () => [], attemptsNow: () => 0 });
  const queues = new EndpointQueues({
    limits,
    concurrency: new ConcurrencyLimit(limits.attempts),
    attempt: attemptWith({ client, metrics, now, random }),
    now,
    random,
    onPhase: () => undefined,
  });
  queues.update(relays);
  const counting = new Proxy(database, {
    get(target, name, receiver) {
      if (name === 'query') counted.statements++;
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
  const store = new RelayStore(counting, `bench/${randomUUID()}`);
  const { signal } = new AbortController();
  const bounds = { rows: 200_000, bytes: 512 * 2 ** 20 };
  const deliveryLog = new DeliveryLog({ store, metrics, limits, bounds, now });
  const outcomes = new OutcomeWriter({ store, deliveryLog, log, signal });
  const first = new FirstAttempts({
    queues,
    outcomes,
    metrics,
    limits,
    wakeSignal: new WakeSignal(),
  });
  const byAccount = new Map([[accountId, relays]]);
  const task = await relayPartitionTask({
    store,
    definitions: { asOf: () => Promise.resolve(byAccount) },
    firstAttempts: first,
    deliveryLog,
    metrics,
    limits,
    log,
    partition,
    signal,
  });
  // Like the consumer, which passes many row batches at a time.
  for (let from = 0; from < messages.length; from += 20)
    await task.process(messages.slice(from, from + 20));
  await task.drain?.();
  client.close();
  return events * relayCount;
}

async function bareLoop(): Promise<number> {
  const wanted = events * relayCount;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const body = relayPayload(orderRow({ accountId, partition }, 1));
  let sent = 0;
  const post = () =>
    new Promise<void>((resolve, reject) => {
      const one = request(
        url,
        {
          method: 'POST',
          agent,
          headers: {
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(body),
          },
        },
        (response) => {
          response.resume();
          response.once('end', resolve);
        },
      );
      one.once('error', reject);
      one.end(body);
    });
  const worker = async () => {
    while (sent++ < wanted) await post();
  };
  await Promise.all(
    Array.from({ length: Math.min(64, RELAY_LIMITS.attemptsPerEndpoint * relayCount) }, worker),
  );
  agent.destroy();
  return wanted;
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
}
