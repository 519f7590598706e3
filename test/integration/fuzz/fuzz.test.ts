import { beforeAll, expect, it } from 'vitest';
import {
  admin,
  eventually,
  FULL,
  serviceStatus,
  ravand,
  readyStack,
  rows,
  type ServiceStatus,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { rawOf, watchTopic } from '../gateway/raw-log.ts';
import type { Target } from './exchange.ts';
import { residentBytes, watchMemory } from './process-memory.ts';
import { fuzz } from './send-inputs.ts';

const SEED = Number(process.env['RAVAND_FUZZ_SEED'] ?? 20_261_121);
const INPUTS = Number(process.env['RAVAND_FUZZ_INPUTS'] ?? (FULL ? 20_000 : 500));
const WARM_UP = FULL ? 500 : 200;
/**
 * The gateway holds at most 128 MiB of bodies (MAX_BODIES_IN_FLIGHT_BYTES), their records, and what
 * its thread makes of one of them.
 */
const MAX_GROWTH = 512 * 1024 * 1024;
/** 503 is the answer to a body that comes too slowly; any other is a fault. */
const ALLOWED = [200, 400, 401, 404, 405, 413, 431, 503];

const client = openClickhouse();
let target: Target;
let accountId: number;

beforeAll(async () => {
  // Nothing of what is accepted may be dropped by age while it is counted: 90 days.
  accountId = (
    await admin<{ account_id: number }>(
      'account',
      'create',
      '--name',
      'fuzz',
      '--retention-days',
      '90',
    )
  ).account_id;
  const key = await admin<{ write_key: string }>(
    'write-key',
    'create',
    '--account',
    String(accountId),
    '--app',
    'fuzz',
    '--environment',
    'test',
  );
  const { hostname, port } = new URL(readyStack().ingest_url);
  target = { host: hostname, port: Number(port), writeKey: key.write_key };
});

async function restarts(): Promise<Record<string, number>> {
  const { parts } = JSON.parse(await ravand('status', '--json')) as { parts: ServiceStatus[] };
  return Object.fromEntries(parts.map((part) => [part.name, part.restarts]));
}

/**
 * How many rows are stored of each request, by its trace: rows name the position of their item, and
 * the raw record that has the item names the trace.
 */
async function storedByTrace(
  raw: Awaited<ReturnType<typeof watchTopic>>,
): Promise<Map<string, number>> {
  const traces = new Map(
    rawOf(await raw(), accountId).flatMap(({ partition, offset, firstIndex, record }) =>
      record.items.map((_, at): [string, string] => [
        `${partition}/${offset}/${firstIndex + at}`,
        record.trace,
      ]),
    ),
  );
  const found = await rows<{ position: string }>(
    client,
    `SELECT concat(toString(_partition), '/', toString(_offset), '/', toString(_index)) AS position
     FROM events WHERE account_id = {id:UInt64}`,
    { id: accountId },
  );
  const stored = new Map<string, number>();
  for (const { position } of found) {
    const trace = traces.get(position) ?? 'of nobody';
    stored.set(trace, (stored.get(trace) ?? 0) + 1);
  }
  return stored;
}

it(
  `${INPUTS.toLocaleString('en')} inputs of seed ${SEED} cause no fault, no crash and bounded memory; accepted events are stored exactly once`,
  { timeout: 300_000 + INPUTS * 60 },
  async () => {
    const raw = await watchTopic('events.raw');
    const before = await restarts();
    const pid = (await serviceStatus('ingest-gateway')).pid ?? 0;
    await fuzz({ target, seed: SEED + 1, inputs: WARM_UP, connections: 16 }).then(({ faults }) =>
      expect(faults).toEqual([]),
    );
    const atFirst = await residentBytes(pid);
    const warm = await storedWarmUp();
    const memory = watchMemory(pid, 250);
    const began = Date.now();
    const { accepted, refused, unsure, statuses, kinds, faults } = await fuzz({
      target,
      seed: SEED,
      inputs: INPUTS,
      connections: 24,
    });
    const seconds = (Date.now() - began) / 1000;
    const most = await memory();
    const atLast = await residentBytes(pid);
    const mib = (bytes: number) => Math.round(bytes / 1024 / 1024);
    console.log(
      JSON.stringify({
        ...{ seed: SEED, inputs: INPUTS, seconds: Math.round(seconds) },
        ...{ statuses: Object.fromEntries(statuses), kinds: Object.fromEntries([...kinds].sort()) },
        ...{
          accepted: [...accepted.values()].reduce((sum, n) => sum + n, 0),
          rss_mib: { before: mib(atFirst), most: mib(most), after: mib(atLast) },
        },
      }),
    );

    expect(faults).toEqual([]);
    expect(
      [...statuses.keys()].filter((status) => status !== 0 && !ALLOWED.includes(status)),
    ).toEqual([]);
    expect((await serviceStatus('ingest-gateway')).pid).toBe(pid);
    expect(most - atFirst).toBeLessThan(MAX_GROWTH);

    const wanted = [...accepted].filter(([, n]) => n > 0);
    const stored = await eventually(
      { ms: 120_000, every: 2000, waitingFor: 'everything accepted to be stored' },
      async () => {
        const found = await storedByTrace(raw);
        return wanted.every(([trace, n]) => (found.get(trace) ?? 0) >= n) ? found : undefined;
      },
    );
    expect(wanted.filter(([trace, n]) => stored.get(trace) !== n)).toEqual([]);
    // What was not answered may be stored; what was refused is not, and nothing else is stored.
    expect(
      [...stored.keys()].filter((trace) => refused.has(trace) || trace === 'of nobody'),
    ).toEqual([]);
    const known = new Set([...accepted.keys(), ...warm]);
    expect([...stored.keys()].filter((trace) => !known.has(trace) && !unsure.has(trace))).toEqual(
      [],
    );
    expect(await restarts()).toEqual(before);

    async function storedWarmUp(): Promise<string[]> {
      return eventually(
        { ms: 60_000, every: 1000, waitingFor: 'the warm-up to be stored' },
        async () => {
          const books = JSON.parse(
            await ravand('status', '--json', '--account', String(accountId)),
          ) as {
            books: { in_flight: number; published: number };
          };
          return books.books.published > 0 && books.books.in_flight === 0
            ? [...(await storedByTrace(raw)).keys()]
            : undefined;
        },
      );
    }
  },
);
