/**
 * A process that attacks an ingest host until it is ended: the worst heads, gzip bombs, JSON bombs,
 * batches of 500 people with large contexts, and unknown keys, all at once. Prints a line when it
 * has begun, and on SIGTERM its HostileReport.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface HostileReport {
  /** Bytes of heads and bodies that were answered, bodies as decoded. */
  received: number;
  /** Requests by attack and status; 0: the connection was closed. */
  answers: Record<string, Record<number, number>>;
}

const { url, key } = JSON.parse(process.env['HOSTILE'] ?? '{}') as { url: string; key: string };
const MIB = 1024 * 1024;
const LIMIT = 5 * MIB;
const HEAD_BYTES = 150;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const report: HostileReport = { received: 0, answers: {} };
let isRunning = true;

function count(attack: string, status: number, bytes: number): void {
  const answers = (report.answers[attack] ??= {});
  answers[status] = (answers[status] ?? 0) + 1;
  report.received += bytes;
}

interface Body {
  path: string;
  body: Buffer;
  gzip?: boolean;
  /** Bytes that it is decoded to, up to the limit. */
  decoded?: number;
}

function post(attack: string, { path, body, gzip, decoded }: Body, writeKey = key): Promise<void> {
  return new Promise((resolve) => {
    const done = (status: number) => {
      count(attack, status, HEAD_BYTES + (decoded ?? body.length));
      resolve();
    };
    const sent = request(
      `${url}${path}`,
      {
        agent,
        method: 'POST',
        timeout: 30_000,
        headers: {
          authorization: `Bearer ${writeKey}`,
          'content-length': body.length,
          ...(gzip ? { 'content-encoding': 'gzip' } : {}),
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => done(response.statusCode ?? 0));
        response.on('error', () => done(0));
      },
    );
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => done(0));
    sent.end(body);
  });
}

/** One head whose spaces a backtracking pattern would read again and again. */
function head(): Promise<void> {
  return new Promise((resolve) => {
    const text = `POST /v1/track HTTP/1.1\r\nX-A:${' '.repeat(8100)}\u0001\r\nContent-Length: 1\r\n\r\na`;
    const socket = connect({ host: new URL(url).hostname, port: Number(new URL(url).port) });
    socket.setTimeout(10_000, () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => {
      count('heads', 0, text.length);
      resolve();
    });
    socket.resume();
    socket.end(text);
  });
}

const fill = (unit: string, bytes: number) => unit.repeat(Math.floor(bytes / unit.length));
const single = (properties: string) => `{"event":"x","user_id":"u","properties":{${properties}}}`;
const keys = (count: number) =>
  Array.from({ length: count }, (_, at) => `"k${at.toString(36)}":0`).join(',');

const gzipBombs: Body[] = [
  Buffer.alloc(64 * MIB),
  Buffer.from(`{"batch":[${fill('{},', 4.9 * MIB)}{}]}`),
  Buffer.from(fill('[', LIMIT)),
].map((bytes) => ({
  path: '/v1/batch',
  body: gzipSync(bytes),
  gzip: true,
  decoded: Math.min(bytes.length, LIMIT),
}));

const jsonBombs: Body[] = [
  { path: '/v1/batch', body: Buffer.from(`{"batch":[${fill('{},', 4.9 * MIB)}{}]}`) },
  { path: '/v1/batch', body: Buffer.from(fill('[', LIMIT)) },
  {
    path: '/v1/track',
    body: Buffer.from(single(`"a":${fill('[', 2 * MIB)}${fill(']', 2 * MIB)}`)),
  },
  { path: '/v1/track', body: Buffer.from(single(keys(100_000))) },
  { path: '/v1/track', body: Buffer.from(single(`"a":[${fill('{},', 60_000)}{}]`)) },
];

function people(context: string): Body {
  const items = Array.from(
    { length: 500 },
    (_, at) => `{"type":"page","user_id":"${randomBytes(4).toString('hex')}${at}"}`,
  );
  return {
    path: '/v1/batch',
    body: Buffer.from(`{"context":${context},"batch":[${items.join(',')}]}`),
  };
}
const contexts = [
  JSON.stringify({ screen: 'x'.repeat(1.2 * MIB) }),
  JSON.stringify({ page: { url: 'x'.repeat(100_000), title: 'ن'.repeat(100_000) } }),
  `{"device":{${keys(20_000)}}}`,
];

/** Repeats an attack, one request after the other. */
async function repeat(pause: number, attack: (round: number) => Promise<unknown>): Promise<void> {
  for (let round = 0; isRunning; round++) {
    await attack(round);
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

const pick = <T>(list: readonly [T, ...T[]] | T[], round: number): T =>
  list[round % list.length] as T;
const unknownKey = () => `wk_svc_${randomBytes(32).toString('base64url')}`;
const event = Buffer.from('{"event":"x","user_id":"u"}');

for (let client = 0; client < 2; client++) {
  void repeat(5, head);
  void repeat(0, (round) => post('gzip', pick(gzipBombs, round + client)));
  void repeat(0, (round) => post('json', pick(jsonBombs, round + client)));
  void repeat(250, (round) => post('people', people(pick(contexts, round + client))));
  void repeat(0, async () => {
    const unknown = Array.from({ length: 20 }, () =>
      post('keys', { path: '/v1/track', body: event }, unknownKey()),
    );
    await Promise.all(unknown);
  });
}

process.on('SIGTERM', () => {
  isRunning = false;
  // What is under way may still append to the log: its bytes count.
  const deadline = Date.now() + 30_000;
  const timer = setInterval(() => {
    const open = Object.values(agent.sockets).reduce((sum, list) => sum + (list?.length ?? 0), 0);
    if (open > 0 && Date.now() < deadline) return;
    clearInterval(timer);
    process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
  }, 100);
});
process.stdout.write('started\n');
