/**
 * node bench/push.ts [--messages 50000] [--concurrency 500]
 *
 * CPU per message of the push providers, to a local receiver that answers at once over HTTP/2, and
 * of a bare loop of node:http2 that posts the same bytes as APNs. The receiver is a process of its
 * own. Needs no stack.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { openProvider } from '../messaging/providers/registry.ts';
import { messageTo, providerDeps } from '../messaging/providers/testing/provider-deps.ts';
import {
  APNS,
  FCM,
  serviceAccount,
  WEB_PUSH,
  type PushService,
} from '../messaging/providers/testing/push-services.ts';
import { bareHttp2Loop } from './messages/bare-http2-loop.ts';
import { numericOptions } from './numbers.ts';

const { messages: count, concurrency } = numericOptions('push', {
  messages: 50_000,
  concurrency: 500,
});
const receiver = fork(join(import.meta.dirname, 'push/receiver-process.ts'));
const { port, cert } = await nextMessage<{ port: number; cert: string }>(receiver);
setDefaultCACertificates([cert]);
const base = `https://push.example:${port}`;
const content = { title: 'سفارش شما', text: 'سلام نرگس، سفارش شما فرستاده شد.' };
const { signal } = new AbortController();

const bare = {
  what: 'bare node:http2 loop',
  work: (wanted: number) => bareHttp2Loop({ port, content }, { count: wanted, concurrency }),
};
const measured = [];
for (const { what, work } of [bare, ...[FCM, APNS, WEB_PUSH].map(provider), bare])
  measured.push(await measure(what, work));
console.table(measured);
const received = nextMessage<{ messages: number }>(receiver);
receiver.send('report');
console.log(JSON.stringify({ sent: measured.length * count, ...(await received) }));
receiver.disconnect();
process.exit(0);

async function measure(what: string, work: (count: number) => Promise<void>) {
  await work(count / 10);
  const [began, before] = [performance.now(), process.cpuUsage()];
  await work(count);
  const [took, { user, system }] = [performance.now() - began, process.cpuUsage(before)];
  return {
    what,
    'messages/s': Math.round((count / took) * 1000),
    'CPU µs a message': Math.round((user + system) / count),
    'messages/s a core of the process': Math.round((count / (user + system)) * 1e6),
  };
}

async function inParallel(wanted: number, post: () => Promise<void>): Promise<void> {
  let started = 0;
  const worker = async () => {
    while (started++ < wanted) await post();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

function provider(service: PushService) {
  const opened = openProvider({
    ...{ channel: service.channel, provider: service.name, accountId: 1 },
    ...{ config: service.config(base), secret: service.secret || serviceAccount(port) },
    deps: providerDeps({ allow: ['push.example'], now: () => Date.now() }),
  });
  const targets = Array.from({ length: 1000 }, () => service.target(base));
  let sent = 0;
  const post = async () => {
    const to = targets[sent % targets.length] ?? service.target(base);
    const messageId = `c7.12.${String(sent++).padStart(32, '0')}`;
    const message = { ...messageTo(to, content), messageId, expiresAt: Date.now() + 3_600_000 };
    const answer = await opened.send(message, { signal });
    if (answer.kind !== 'accepted') throw new Error(JSON.stringify(answer));
  };
  return { what: service.name, work: (wanted: number) => inParallel(wanted, post) };
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
}
