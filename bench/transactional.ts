/**
 * node bench/transactional.ts [--rate 500] [--seconds 20] [--accounts 1]
 *
 * POST /v1/messages at a fixed rate, whatever the answers do, beside a receiver that answers in
 * 5 ms: latencies, what messages waited for on average, and CPU time of the host and of the stack's
 * parts. The host is a process of its own with the settings of the stack (RAVAND_HOME). Requests go
 * over as many connections as they need, at most 256: waiting for one would count as latency.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import pg from 'pg';
import { STAGES } from '../messaging/transactional/ports.ts';
import { MessageAccount } from '../test/support/messages/message-account.ts';
import { MessageHost } from '../test/support/messages/message-host.ts';
import { metric } from '../test/support/service-process.ts';
import { readyStack } from '../test/support/stack.ts';
import { ProcessUse } from './messages/process-use.ts';
import { pidsByName } from './server-process.ts';
import { RawClient } from './http/raw-client.ts';
import { listenRaw } from './http/raw-receiver.ts';
import { numericOptions } from './numbers.ts';

const {
  rate,
  seconds,
  accounts: accountCount,
} = numericOptions('transactional', { rate: 500, seconds: 20, accounts: 1 });
const PEOPLE = 1000;
/** The host compiles its code while it runs for the first time, and so does Kafka. */
const WARM_UP_S = 30;

const database = new pg.Pool({ connectionString: readyStack().database_url, max: 2 });
const receiver = await listenRaw(5);
const host = await MessageHost.start(receiver);
const client = new RawClient({ url: host.url, max: 256 });

interface Sender {
  key: string;
  template: number;
}

try {
  const senders: Sender[] = [];
  for (let at = 0; at < accountCount; at++) senders.push(await makeSender(at));
  await load(senders, WARM_UP_S);
  const use = ProcessUse.watch(new Map([...(await pidsByName()), ['management host', host.pid]]));
  const before = await stageTimes();
  // The client and the receiver are this process: what it is late by is in the latencies.
  const late = monitorEventLoopDelay({ resolution: 2 });
  late.enable();
  const ownBefore = process.cpuUsage();
  const measured = await load(senders, seconds);
  late.disable();
  const used = use.read();
  const own = process.cpuUsage(ownBefore);
  const after = await stageTimes();
  console.table([
    {
      ...{ rate, accounts: accountCount, requests: measured.latencies.length },
      ...{ refused: measured.refused, sent: measured.sent },
      ...{ 'p50 ms': percentile(measured.latencies, 0.5) },
      ...{ 'p95 ms': percentile(measured.latencies, 0.95) },
      ...{ 'p99 ms': percentile(measured.latencies, 0.99) },
      ...{ 'client late, p99 ms': Math.round(late.percentile(99) / 1e5) / 10 },
    },
  ]);
  console.table(
    STAGES.map((stage) => {
      const [was, is] = [before.get(stage), after.get(stage)];
      const count = (is?.count ?? 0) - (was?.count ?? 0);
      const ms = (((is?.sum ?? 0) - (was?.sum ?? 0)) / count) * 1000;
      return { stage, 'ms on average': Math.round(ms * 10) / 10 };
    }),
  );
  const cpuMs = (cpu: number) => Number(((cpu * 1000) / measured.latencies.length).toFixed(2));
  console.table(
    [...used, { name: 'client and receiver', cpu: (own.user + own.system) / 1e6 }]
      .map(({ name, cpu }) => ({ part: name, 'CPU ms a message': cpuMs(cpu) }))
      .toSorted((a, b) => b['CPU ms a message'] - a['CPU ms a message'])
      .slice(0, 8),
  );
} finally {
  client.close();
  await host.close();
  receiver.close();
  await database.end();
}
process.exit(0);

async function makeSender(at: number): Promise<Sender> {
  const owner = await MessageAccount.create(database, `bench transactional ${at}`);
  await owner.sender('bale', 'bale', {
    config: { url: `http://127.0.0.1:${receiver.port}` },
    secret: 'token',
  });
  await owner.chats(
    'bale',
    Array.from({ length: PEOPLE }, (_, person) => `user-${person}`),
  );
  const text = 'سلام {{ user.first_name | default: "دوست" }}، کد شما {{ vars.code }} است.';
  const template = await owner.template('bale', { text });
  return { key: owner.account.managementKey, template };
}

/** s and messages of each stage, since the start of the host. */
async function stageTimes(): Promise<Map<string, { sum: number; count: number }>> {
  const name = 'ravand_transactional_stage_seconds';
  const adminUrl = await host.adminUrl();
  const times = STAGES.map(async (stage) => {
    const label = `stage="${stage}"`;
    const [sum, count] = await Promise.all(
      [`${name}_sum`, `${name}_count`].map((of) => metric(adminUrl, of, label)),
    );
    return [stage, { sum: sum ?? 0, count: count ?? 0 }] as const;
  });
  return new Map(await Promise.all(times));
}

interface Measured {
  /** ms */
  latencies: number[];
  refused: number;
  sent: number;
}

/** Sends at the rate for so long; resolves when all are answered. */
async function load(senders: readonly Sender[], forSeconds: number): Promise<Measured> {
  const measured: Measured = { latencies: [], refused: 0, sent: 0 };
  const count = rate * forSeconds;
  const began = performance.now();
  const open: Promise<void>[] = [];
  for (let at = 0; at < count; at++) {
    const due = began + (at * 1000) / rate;
    const early = due - performance.now();
    if (early > 1) await new Promise((resolve) => setTimeout(resolve, early));
    const sender = senders[at % senders.length];
    if (sender) open.push(sendOne(sender, { at, due, measured }));
  }
  await Promise.all(open);
  return measured;
}

async function sendOne(
  { key, template }: Sender,
  { at, due, measured }: { at: number; due: number; measured: Measured },
): Promise<void> {
  const body = JSON.stringify({
    ...{ user_id: `user-${at % PEOPLE}`, template_id: template, channel: 'bale' },
    ...{ idempotency_key: `${process.pid}-${Math.round(due)}-${at}`, vars: { code: at } },
  });
  const answer = await client.post({
    path: '/v1/messages',
    headers: { authorization: `Bearer ${key}` },
    body,
  });
  // From the time when it was due: a queue in the client counts.
  measured.latencies.push(performance.now() - due);
  if (answer.status !== 200) measured.refused++;
  else if (answer.text.includes('"sent"')) measured.sent++;
}

function percentile(latencies: readonly number[], share: number): number {
  const sorted = latencies.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) * 10) / 10;
}
