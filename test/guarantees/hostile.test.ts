import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRange } from '../../platform/kafka/read-range.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import type { HostileReport } from '../support/hostile-client.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import { stackKafka, topicEnds } from '../support/read-topic.ts';
import { openClickhouse } from '../support/stack-clients.ts';
import { createAccount, eventually, FULL, sleep, type TestAccount } from '../support/stack.ts';

const PHASE_MS = FULL ? 60_000 : 15_000;
const CLIENTS = 8;
const MAX_RATIO = 5;
const MAX_RSS_MB = 600;
const MAX_APPENDED = 3;

const clickhouse = openClickhouse();
let attacked: GatewayProcess;
/** On the same machine, Kafka and Redis, without an attack of its own: its p99 is their noise. */
let neighbour: GatewayProcess;

beforeAll(async () => {
  attacked = await GatewayProcess.create();
  neighbour = await GatewayProcess.create();
  for (const gateway of [attacked, neighbour]) {
    await gateway.start();
    // Until then records go into the spool.
    await eventually({ ms: 60_000, waitingFor: 'Kafka' }, async () =>
      (await gateway.phase()) === 'direct' ? true : undefined,
    );
  }
}, 180_000);
afterAll(async () => {
  await Promise.all([attacked.remove(), neighbour.remove()]);
});

interface Measured {
  p99: number;
  statuses: Record<number, number>;
}

/** Well-behaved clients: single events, each after the answer to the one before. */
async function measure(
  gateway: GatewayProcess,
  account: TestAccount,
  ledger: Ledger,
): Promise<Measured> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  const statuses: Record<number, number> = {};
  const until = Date.now() + PHASE_MS;
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      while (Date.now() < until) {
        const message_id = randomUUID();
        const body = JSON.stringify({ event: 'acted', user_id: `person-${client}`, message_id });
        ledger.sent([message_id]);
        const began = performance.now();
        const status = await postEvent(agent, gateway.url, account.writeKey, body);
        times.push(performance.now() - began);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status === 200) ledger.answered([message_id]);
        await sleep(10);
      }
    }),
  );
  agent.destroy();
  times.sort((a, b) => a - b);
  return { p99: times[Math.floor(times.length * 0.99)] ?? Infinity, statuses };
}

function postEvent(agent: Agent, url: string, key: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}/v1/track`,
      {
        agent,
        method: 'POST',
        timeout: 30_000,
        headers: { authorization: `Bearer ${key}`, 'content-length': Buffer.byteLength(body) },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer within 30 s')));
    sent.on('error', reject);
    sent.end(body);
  });
}

interface Attack {
  stop(): Promise<HostileReport>;
}

async function startAttack(url: string, key: string): Promise<Attack> {
  const script = join(import.meta.dirname, '..', 'support', 'hostile-client.ts');
  const child = spawn(process.execPath, [script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, HOSTILE: JSON.stringify({ url, key }) },
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child.stdout, 'data');
  return {
    stop: async () => {
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
      return JSON.parse(text.slice(text.indexOf('{'))) as HostileReport;
    },
  };
}

/** Bytes of an account's records in events.raw from `from` on. */
async function appendedBytes(
  accountId: number,
  from: ReadonlyMap<number, number>,
): Promise<number> {
  let bytes = 0;
  for (const [partition, to] of await topicEnds(TOPIC.raw)) {
    const range = { topic: TOPIC.raw, partition, from: from.get(partition) ?? 0, to };
    const signal = AbortSignal.timeout(120_000);
    const read = { settings: stackKafka(), clientId: 'hostile-test', range, signal };
    for await (const batch of readRange(read))
      for (const { value } of batch)
        if (value && rawRecordCodec.decode(value).account_id === accountId) bytes += value.length;
  }
  return bytes;
}

/** The most memory that a process ever had, in MB. */
function peakMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
}

describe('a hostile client', () => {
  it(
    'delays others at most 5 times, and takes no more of memory and log than it may',
    async () => {
      const [good, other, bad] = await Promise.all([
        createAccount('well-behaved'),
        createAccount('well-behaved at the neighbour'),
        createAccount('hostile'),
      ]);
      const [ledger, otherLedger] = [new Ledger(), new Ledger()];
      const spooled = (gateway: GatewayProcess) =>
        gateway.metric('ravand_gateway_records_total', 'outcome="spooled"');
      const undisturbed = await Promise.all([
        measure(attacked, good, ledger),
        measure(neighbour, other, otherLedger),
      ]);
      const from = await topicEnds(TOPIC.raw);
      const before = await Promise.all([spooled(attacked), spooled(neighbour)]);
      const attack = await startAttack(attacked.url, bad.writeKey);
      const disturbed = await Promise.all([
        measure(attacked, good, ledger),
        measure(neighbour, other, otherLedger),
      ]);
      const report = await attack.stop();
      const after = await Promise.all([spooled(attacked), spooled(neighbour)]);
      const appended = await appendedBytes(bad.accountId, from);
      const peak = peakMegabytes(attacked.pid);
      console.log(
        JSON.stringify({
          partitions: from.size,
          p99_ms: [undisturbed[0].p99, disturbed[0].p99].map(Math.round),
          neighbour_p99_ms: [undisturbed[1].p99, disturbed[1].p99].map(Math.round),
          peak_mb: Math.round(peak),
          received_mb: Math.round(report.received / 1e6),
          appended_per_byte: Number((appended / report.received).toFixed(2)),
          spooled: [after[0] - before[0], after[1] - before[1]],
          answers: report.answers,
        }),
      );
      for (const attackName of ['heads', 'gzip', 'json', 'people', 'keys'])
        expect(report.answers[attackName]).toBeDefined();
      expect(report.answers['people']?.[200]).toBeGreaterThan(0);
      // The attack takes its share of the two cores; the neighbour shows what that alone costs.
      const noise = Math.max(undisturbed[0].p99, disturbed[1].p99);
      expect(disturbed[0].p99 / noise).toBeLessThanOrEqual(MAX_RATIO);
      expect(peak).toBeLessThan(MAX_RSS_MB);
      expect(appended / report.received).toBeLessThanOrEqual(MAX_APPENDED);
      if (after[0] > before[0])
        console.log(attacked.log.split('\n').filter((line) => line.includes('publish_failed')));
      // When the neighbour spools, too, Kafka itself did not answer in time on this machine.
      if (after[1] === before[1]) expect(after[0] - before[0]).toBe(0);
      for (const { statuses } of [...undisturbed, ...disturbed])
        expect(Object.keys(statuses)).toEqual(['200']);
      expect(await untilStored(clickhouse, good.accountId, ledger, 180_000)).toEqual({
        lost: [],
        doubled: [],
        unknown: [],
      });
    },
    FULL ? 600_000 : 360_000,
  );
});
