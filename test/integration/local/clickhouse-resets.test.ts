import { connect } from 'node:net';
import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sleep } from '../../support/stack.ts';
import { startOwnClickhouse } from '../sink/own-servers.ts';

const RESETS_PER_PHASE = 40;
const INSERT = 'INSERT INTO reset_rows FORMAT JSONEachRow';

/** How far a request comes before its connection is reset: what is sent, then the wait, ms. */
const PHASES: readonly [phase: string, sent: string | Buffer, wait: number][] = [
  ['before the first byte', '', 0],
  ['after one byte', 'G', 5],
  ['in the head of a request', 'GET /?query=SELECT%201 HTTP/1.1\r\nHost: x\r\nX-A: ', 5],
  [
    'before 100 Continue',
    'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9',
    5,
  ],
  ['during a query', request('GET', 'SELECT sleepEachRow(0.05) FROM numbers(10)'), 20],
  ['during a result', request('GET', 'SELECT number FROM numbers(10000000)'), 20],
  ['during an insert', `${request('POST', INSERT, 'Content-Length: 999')}{"a":1}\n`, 15],
  ['in a chunk', `${request('POST', INSERT, 'Transfer-Encoding: chunked')}99\r\n{"a":1}`, 15],
  ['after a complete answer', request('GET', 'SELECT 1'), 15],
  ['during a TLS handshake', Buffer.from(`16030100f8010000f40303${'ab'.repeat(60)}`, 'hex'), 5],
  ['after bytes of no protocol', Buffer.alloc(5000, 0xff), 5],
];

function request(method: string, query: string, header = 'X-A: b'): string {
  const target = `/?user=ravand&password=PASSWORD&query=${encodeURIComponent(query)}`;
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`;
}

describe('a TCP reset', () => {
  let server: Awaited<ReturnType<typeof startOwnClickhouse>>;
  let client: ClickHouseClient;
  let pid: number | undefined;
  beforeAll(async () => {
    server = await startOwnClickhouse();
    ({ pid } = server);
    client = createClient({ url: server.url });
    for (const table of ['reset_rows', 'kept_rows'])
      await client.command({
        query: `CREATE TABLE ${table} (a UInt32) ENGINE = MergeTree ORDER BY a`,
      });
  }, 60_000);
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  it.each(PHASES)(
    '%s ends neither ClickHouse nor the work of others',
    async (_phase, sent, wait) => {
      const { port, password } = new URL(server.url);
      const bytes =
        typeof sent === 'string' ? Buffer.from(sent.replace('PASSWORD', password)) : sent;
      const others = workOfOthers(client);
      await Promise.all(
        Array.from({ length: RESETS_PER_PHASE }, async (_, at) => {
          await sleep(at * 3);
          await sendAndReset({ port: Number(port), bytes, wait: (wait * at) / RESETS_PER_PHASE });
        }),
      );
      await others.finish();
      expect(server.pid).toBe(pid);
      expect(server.exit).toBeUndefined();
      expect(others.failures).toEqual([]);
      expect(await countOf(client, 'kept_rows')).toBe(others.inserted());
    },
    30_000,
  );
});

async function sendAndReset(options: { port: number; bytes: Buffer; wait: number }): Promise<void> {
  const socket = connect({ port: options.port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  if (options.bytes.length > 0) socket.write(options.bytes);
  await sleep(options.wait);
  socket.resetAndDestroy();
  await closed;
}

let inserted = 0;

/** Inserts and queries without a pause until it is finished. */
function workOfOthers(client: ClickHouseClient) {
  const failures: unknown[] = [];
  const stop = new AbortController();
  const loop = (async () => {
    while (!stop.signal.aborted) {
      try {
        await client.insert({ table: 'kept_rows', values: [{ a: 1 }], format: 'JSONEachRow' });
        inserted++;
        expect(await countOf(client, 'kept_rows')).toBe(inserted);
      } catch (error) {
        failures.push(error);
        return;
      }
    }
  })();
  return {
    failures,
    inserted: () => inserted,
    async finish() {
      stop.abort();
      await loop;
    },
  };
}

async function countOf(client: ClickHouseClient, table: string): Promise<number> {
  const answer = await client.query({
    query: `SELECT toUInt32(count()) AS n FROM ${table}`,
    format: 'JSONEachRow',
  });
  const [row] = await answer.json<{ n: number }>();
  return row?.n ?? -1;
}
