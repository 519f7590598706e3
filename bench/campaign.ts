/**
 * node bench/campaign.ts [--people 1000000] [--rate 2000] [--seconds N] [--rest N]
 *
 * A campaign with a template of five variables by e-mail to a server that keeps nothing, from the
 * request to the last outcome in ClickHouse: messages a second, CPU and memory of each part; and
 * single events at a rate beside it, whose latencies are compared with those before. The dispatcher
 * is a process of its own instead of the stack's (RAVAND_HOME). --seconds: what was sent until then
 * is measured, and the campaign is cancelled. --rest: events do not come all the time; every N s
 * they come for a round while the campaign is paused and for a round while it is sent, so that both
 * are measured in the same minute on a machine that others use.
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { TestCampaign } from '../test/support/messages/campaign.ts';
import { DispatcherProcesses } from '../test/support/messages/dispatcher-processes.ts';
import { storedMessageCount } from '../test/support/messages/stored-messages.ts';
import { clickhouse, eventually, ravand, readyStack } from '../test/support/stack.ts';
import { seedAccount } from './account.ts';
import { percentile, postAtRate, type PostResult } from './load-client.ts';
import { ProcessUse } from './messages/process-use.ts';
import { SendingAccount } from './messages/sending-account.ts';
import { pidsByName } from './server-process.ts';
import { numericOptions } from './numbers.ts';

const {
  people,
  rate,
  seconds: limit,
  rest,
} = numericOptions('campaign', { people: 1_000_000, rate: 2000, seconds: 3600, rest: 0 });
/** Time of each measurement of latencies, ms: many of them make the campaign's. */
const ROUND_MS = 15_000;
/** After a command, until what it changes is over, ms (a pause holds within 5 s). */
const TAKES_EFFECT_MS = 6000;

const ready = readyStack();
const database = new pg.Pool({ connectionString: ready.database_url, max: 2 });
const client = clickhouse(ready);
const receiver = fork(join(import.meta.dirname, 'smtp/null-server-process.ts'));
const { port } = await new Promise<{ port: number }>((resolve) =>
  receiver.once('message', (message) => resolve(message as { port: number })),
);
const { writeKey } = await seedAccount(ready.database_url, 'bench campaign: events beside it');
const account = await SendingAccount.create({ database, client }, 'bench campaign', people);
await ravand('stop', 'dispatcher');
const dispatchers = await DispatcherProcesses.start(1, { ports: [port] });
try {
  const before = await warmUpAndMeasure();
  const html = `<!doctype html><html><body><p>سلام {{ user.first_name }} {{ user.last_name }} از {{ user.city }}</p>
    <p>امتیاز شما {{ user.points }} است و {{ user.last_product }} در انتظار شماست.</p>
    <p><a href="https://shop.example/yalda">جشنوارهٔ یلدا</a></p></body></html>`;
  const campaign = await account.campaign(
    'email',
    { subject: 'سلام {{ user.first_name }}', html },
    { provider: 'smtp', config: { host: '127.0.0.1', port, from: 'news@shop.example' } },
  );
  const pids = await pidsByName();
  pids.delete('dispatcher');
  const use = ProcessUse.watch(new Map([...pids, ['dispatcher', dispatchers.pids[0] ?? 0]]));
  const began = performance.now();
  const runId = await campaign.send();
  const state = { isOver: false };
  const isOver = () => state.isOver;
  const beside = rest > 0 ? measureInPairs(campaign, isOver) : measureEventsUntil(isOver);
  const isLate = () => performance.now() - began > limit * 1000;
  await until('all outcomes', async () => isLate() || (await account.finished(runId)) >= people);
  const [seconds, finished] = [(performance.now() - began) / 1000, await account.finished(runId)];
  const used = use.read();
  state.isOver = true;
  const during = await beside;
  const per_second = Math.round(finished / seconds);
  console.log(JSON.stringify({ people, finished, seconds, per_second }));
  console.table(
    used
      .map(({ name, cpu, mb, anonymousMb }) => ({
        ...{ part: name, 'CPU s': Math.round(cpu), 'MB at most': mb },
        'without mapped files': anonymousMb,
        'CPU µs a message': Math.round((cpu / finished) * 1e6),
      }))
      .toSorted((a, b) => b['CPU s'] - a['CPU s']),
  );
  console.table([{ events: 'before', ...before }, ...during]);
  if (finished < people) await campaign.operate('cancel');
  await until('all outcomes', async () => (await account.finished(runId)) >= people);
  const { accountId } = account.owner.account;
  if (finished >= people)
    await until('all rows', async () => (await storedMessageCount(client, accountId)) >= people);
  const ended = (performance.now() - began) / 1000;
  console.log(JSON.stringify({ ended, stats: (await campaign.show()).stats }));
} finally {
  await dispatchers.close();
  await account.remove();
  receiver.disconnect();
  await database.end();
  await client.close();
}
process.exit(0);

function until(waitingFor: string, holds: () => Promise<boolean>): Promise<true> {
  return eventually({ ms: (limit + 600) * 1000, every: 500, waitingFor }, async () =>
    (await holds()) ? true : undefined,
  );
}

interface Measured {
  answered: number;
  failed: number;
  'p50 ms': number;
  'p95 ms': number;
  'p99 ms': number;
}

async function post() {
  const run = randomUUID();
  return postAtRate({
    url: `${ready.ingest_url}/v1/track`,
    headers: { authorization: `Bearer ${writeKey}` },
    body: (n) =>
      `{"event":"product_viewed","user_id":"user-${n % 20_000}","message_id":"${run}-${n}","properties":{"product_id":"sku-${n % 5000}","price":${n % 977}}}`,
    ...{ connections: 64, rate, duration: ROUND_MS },
  });
}

async function warmUpAndMeasure(): Promise<Measured> {
  await post();
  return summary([await post()]);
}

type Row = { events: string } & Measured;

async function measureEventsUntil(isOver: () => boolean): Promise<Row[]> {
  const rounds = [];
  while (!isOver()) rounds.push(await post());
  return [{ events: 'beside the campaign', ...summary(rounds) }];
}

/** Rounds in turns: while the campaign is paused, while it is sent. */
async function measureInPairs(campaign: TestCampaign, isOver: () => boolean): Promise<Row[]> {
  const [paused, sending]: [PostResult[], PostResult[]] = [[], []];
  await setTimeout(rest * 1000);
  while (!isOver()) {
    await campaign.operate('pause');
    await setTimeout(TAKES_EFFECT_MS);
    const alone = await post();
    await campaign.operate('resume');
    await setTimeout(TAKES_EFFECT_MS);
    const beside = await post();
    // A round that the campaign did not last for is no comparison.
    if (isOver()) break;
    paused.push(alone);
    sending.push(beside);
    console.table([
      { events: 'campaign paused', ...summary([alone]) },
      { events: 'beside the campaign', ...summary([beside]) },
    ]);
    await setTimeout(rest * 1000);
  }
  return [
    { events: `campaign paused, ${paused.length} rounds`, ...summary(paused) },
    { events: `beside the campaign, ${sending.length} rounds`, ...summary(sending) },
  ];
}

function summary(rounds: readonly PostResult[]): Measured {
  const latencies = rounds.flatMap((round) => round.latencies);
  const ms = (share: number) => Math.round(percentile(latencies, share) * 10) / 10;
  return {
    answered: rounds.reduce((sum, { answered }) => sum + answered, 0),
    failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
    ...{ 'p50 ms': ms(0.5), 'p95 ms': ms(0.95), 'p99 ms': ms(0.99) },
  };
}
