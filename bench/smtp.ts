/**
 * node bench/smtp.ts [--mails 20000] [--concurrency 50]
 *
 * CPU per mail of the SMTP provider, to a local server that accepts each at once, with and without
 * a signature, and of nodemailer's pooled transport with the same content. The server is a process
 * of its own. Needs no stack.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { openProvider } from '../messaging/providers/registry.ts';
import { messageTo, providerDeps } from '../messaging/providers/testing/provider-deps.ts';
import { numericOptions } from './numbers.ts';

const { mails: count, concurrency } = numericOptions('smtp', { mails: 20_000, concurrency: 50 });
const server = fork(join(import.meta.dirname, 'smtp/null-server-process.ts'));
const { port } = await nextMessage<{ port: number }>(server);
const SENTENCE = 'سلام نرگس، سفارش شما فرستاده شد و تا پایان هفته می‌رسد. ';
const content = {
  subject: 'سفارش شما در راه است',
  text: SENTENCE.repeat(20),
  html: `<!doctype html><html dir="rtl"><body>${`<p>${SENTENCE}</p>`.repeat(20)}</body></html>`,
};
const unsubscribeUrl = `https://news.shop.example/e/u/${'a'.repeat(45)}`;
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const dkim = { selector: 's1', private_key: privateKey };

console.table([
  await measure("nodemailer's pooled transport", nodemailer()),
  await measure('smtp', provider('')),
  await measure('smtp, signed (RSA 2048)', provider(JSON.stringify({ dkim }))),
]);
const received = nextMessage<{ mails: number }>(server);
server.send('report');
console.log(JSON.stringify({ sent: 3 * (count + count / 10), ...(await received) }));
server.disconnect();
process.exit(0);

async function measure(what: string, post: (n: number) => Promise<void>) {
  await inParallel(count / 10, post);
  const [began, before] = [performance.now(), process.cpuUsage()];
  await inParallel(count, post);
  const [took, { user, system }] = [performance.now() - began, process.cpuUsage(before)];
  return {
    what,
    'mails/s': Math.round((count / took) * 1000),
    'CPU µs a mail': Math.round((user + system) / count),
    'mails/s a core of the process': Math.round((count / (user + system)) * 1e6),
  };
}

async function inParallel(wanted: number, post: (n: number) => Promise<void>): Promise<void> {
  let started = 0;
  const worker = async () => {
    while (started < wanted) await post(started++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

function provider(secret: string): (n: number) => Promise<void> {
  const opened = openProvider({
    ...{ channel: 'email', provider: 'smtp', accountId: 1, secret },
    config: {
      ...{ host: '127.0.0.1', port, from: 'فروشگاه <news@shop.example>' },
      bounce_domain: 'bounce.shop.example',
    },
    deps: providerDeps({ now: () => Date.now() }),
  });
  const { signal } = new AbortController();
  return async (n) => {
    const messageId = `c7.12.${String(n).padStart(32, '0')}`;
    const email = { bounceLocal: 'a'.repeat(52), unsubscribeUrl, preferencesUrl: unsubscribeUrl };
    const to = { kind: 'email', address: `user${n}@mail.example` } as const;
    const answer = await opened.send({ ...messageTo(to, content), messageId, email }, { signal });
    if (answer.kind !== 'accepted') throw new Error(JSON.stringify(answer));
  };
}

function nodemailer(): (n: number) => Promise<void> {
  const transport = createTransport({
    ...{ host: '127.0.0.1', port, pool: true, maxConnections: concurrency, maxMessages: 100 },
  });
  return async (n) => {
    const to = `user${n}@mail.example`;
    await transport.sendMail({
      ...{ from: 'فروشگاه <news@shop.example>', to, ...content },
      messageId: `<c7.12.${String(n).padStart(32, '0')}@shop.example>`,
      envelope: { from: `${'a'.repeat(52)}@bounce.shop.example`, to },
      list: { unsubscribe: { url: unsubscribeUrl, comment: '' } },
      headers: { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
    });
  };
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
}
