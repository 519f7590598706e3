/**
 * node bench/messages.ts [--people 100000] [--channels push,email] [--profile FOLDER]
 *
 * Messages per second of the dispatcher and a core of it: from chunks in its queue to outcomes in
 * PostgreSQL, to a receiver that answers at once over HTTP/2 (APNs) or SMTP, and bare loops to the
 * same receivers in the same run. The dispatcher is a process of its own instead of the stack's
 * (RAVAND_HOME); the run is paused until it has copied all chunks, and measured after a fifth of
 * it, when the code is compiled; so are the loops. CPU is that of the dispatcher's process with all
 * of its threads. --profile: CPU profiles of it.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { createTransport } from 'nodemailer';
import pg from 'pg';
import { parseLine } from '../cli/arguments.ts';
import { APNS } from '../messaging/providers/testing/push-services.ts';
import { DispatcherProcesses } from '../test/support/messages/dispatcher-processes.ts';
import { clickhouse, eventually, ravand, readyStack } from '../test/support/stack.ts';
import { bareHttp2Loop } from './messages/bare-http2-loop.ts';
import { ProcessUse } from './messages/process-use.ts';
import { SendingAccount } from './messages/sending-account.ts';
import { numberOf } from './numbers.ts';

const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench messages -- [--people N] [--channels push,email] [--profile FOLDER]',
  options: {
    people: { type: 'string', default: '100000' },
    channels: { type: 'string', default: 'push,email' },
    profile: { type: 'string', default: '' },
  },
});
const people = numberOf(values, 'people');
const CONCURRENCY = 500;
const MAIL_CONNECTIONS = 50;
/** What is sent first is not measured: code is compiled while it runs for the first time. */
const WARM_UP = Math.ceil(people / 5);
/** Waits end then, ms: of the plan, and between two outcomes. */
const STALLED_MS = 60_000;
/** CPU profiles of the dispatcher's threads are written there. */
const profiling =
  values.profile === '' ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${values.profile}` };

const ready = readyStack();
const database = new pg.Pool({ connectionString: ready.database_url, max: 2 });
const client = clickhouse(ready);
const folder = mkdtempSync(join(tmpdir(), 'bench-messages-'));
const measured: Record<string, unknown>[] = [];
try {
  for (const channel of values.channels.split(','))
    await (channel === 'push' ? benchPush() : benchEmail());
  console.table(measured);
} finally {
  await ravand('start', 'dispatcher');
  rmSync(folder, { recursive: true });
  await database.end();
  await client.close();
}
process.exit(0);

async function benchPush(): Promise<void> {
  const receiver = fork(join(import.meta.dirname, 'push/receiver-process.ts'));
  const { port, cert } = await nextMessage<{ port: number; cert: string }>(receiver);
  setDefaultCACertificates([cert]);
  const file = join(folder, 'receiver.pem');
  writeFileSync(file, cert);
  const content = {
    title: 'سلام {{ user.first_name }}',
    text: 'سفارش شما فرستاده شد و تا پایان هفته می‌رسد.',
  };
  const bare = (count: number) =>
    bareHttp2Loop({ port, content }, { count, concurrency: CONCURRENCY });
  await measureLoop('bare node:http2 loop', bare);
  const config = APNS.config(`https://127.0.0.1:${port}`) as { url: string };
  await measureDispatcher('dispatcher, push (APNs)', {
    ...{ channel: 'push', content, port, env: { NODE_EXTRA_CA_CERTS: file } },
    sender: { provider: 'apns', config, secret: APNS.secret },
  });
  await measureLoop('bare node:http2 loop, again', bare);
  receiver.disconnect();
}

async function benchEmail(): Promise<void> {
  const receiver = fork(join(import.meta.dirname, 'smtp/null-server-process.ts'));
  const { port } = await nextMessage<{ port: number }>(receiver);
  const html = `<!doctype html><html><body><p>سلام {{ user.first_name }}</p>${'<p>سفارش شما فرستاده شد و تا پایان هفته می‌رسد.</p>'.repeat(10)}</body></html>`;
  const content = { subject: 'سلام {{ user.first_name }}', html };
  const transport = createTransport({
    ...{ host: '127.0.0.1', port, pool: true, maxConnections: MAIL_CONNECTIONS },
    maxMessages: 100,
  });
  const mail = { from: 'news@shop.example', to: 'user@mail.example', ...content };
  await measureLoop("nodemailer's pooled transport", async (count) => {
    let started = 0;
    const worker = async () => {
      while (started++ < count) await transport.sendMail(mail);
    };
    await Promise.all(Array.from({ length: MAIL_CONNECTIONS }, worker));
  });
  transport.close();
  await measureDispatcher('dispatcher, e-mail (SMTP)', {
    ...{ channel: 'email', content, port, env: {} },
    sender: { provider: 'smtp', config: { host: '127.0.0.1', port, from: mail.from } },
  });
  receiver.disconnect();
}

async function measureDispatcher(
  what: string,
  options: {
    channel: 'push' | 'email';
    content: { html?: string; title?: string; text?: string; subject?: string };
    sender: Parameters<SendingAccount['campaign']>[2];
    port: number;
    env: NodeJS.ProcessEnv;
  },
): Promise<void> {
  const { channel, content, sender, port, env } = options;
  const account = await SendingAccount.create({ database, client }, `bench ${what}`, people);
  if (channel === 'push') await account.devices();
  await ravand('stop', 'dispatcher');
  const campaign = await account.campaign(channel, content, sender);
  const runId = await campaign.send();
  await until('the run to be planned', () => account.isPlanned(runId));
  await campaign.operate('pause');
  report(`${what}: planned`);
  const dispatchers = await DispatcherProcesses.start(1, {
    ports: [port],
    env: { ...env, ...profiling },
  });
  try {
    const pids = new Map([['dispatcher', dispatchers.pids[0] ?? 0]]);
    const outcomes = { account, runId, dispatchers };
    await until('all chunks in the queue', async () => (await account.queued(runId)) >= people);
    report(`${what}: queued`);
    await campaign.operate('resume');
    await untilFinished(WARM_UP, outcomes);
    const [began, before] = [performance.now(), await account.finished(runId)];
    const use = ProcessUse.watch(pids);
    await untilFinished(people, outcomes);
    const seconds = (performance.now() - began) / 1000;
    const [used] = use.read();
    const { stats } = await campaign.show();
    if (stats.sent !== people) throw new Error(JSON.stringify(stats));
    addRow(what, { count: people - before, seconds, cpu: used?.cpu ?? 0, mb: used?.mb });
  } finally {
    await dispatchers.close();
    await account.remove();
  }
}

async function measureLoop(what: string, work: (count: number) => Promise<void>): Promise<void> {
  await work(WARM_UP);
  const [began, before] = [performance.now(), process.cpuUsage()];
  await work(people);
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - began) / 1000;
  addRow(what, { count: people, seconds, cpu: (user + system) / 1e6 });
}

function addRow(
  what: string,
  {
    count,
    seconds,
    cpu,
    mb,
  }: { count: number; seconds: number; cpu: number; mb?: number | undefined },
): void {
  measured.push({
    ...{ what, messages: count, 'messages/s': Math.round(count / seconds) },
    'CPU µs a message': Math.round((cpu / count) * 1e6),
    'messages/s a core of the process': Math.round(count / cpu),
    'MB at most': mb,
  });
}

/** Waits until so many recipients have an outcome; rejects when none gets one for long. */
async function untilFinished(
  wanted: number,
  {
    account,
    runId,
    dispatchers,
  }: { account: SendingAccount; runId: number; dispatchers: DispatcherProcesses },
): Promise<void> {
  let [finished, changedAt] = [0, performance.now()];
  for (;;) {
    const now = await account.finished(runId);
    if (now >= wanted) return;
    if (now !== finished) [finished, changedAt] = [now, performance.now()];
    if (performance.now() - changedAt > STALLED_MS)
      throw new Error(`${finished} of ${people} have an outcome; ${dispatchers.logs}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function until(waitingFor: string, holds: () => Promise<boolean>): Promise<true> {
  return eventually({ ms: STALLED_MS, every: 20, waitingFor }, async () =>
    (await holds()) ? true : undefined,
  );
}

/** Progress, apart from the table. */
function report(what: string): void {
  process.stderr.write(`${Math.round(performance.now() / 1000)} s: ${what}\n`);
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
}
