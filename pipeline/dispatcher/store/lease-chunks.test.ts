import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { leaseChunks } from './lease-chunks.ts';

type Lease = Parameters<typeof leaseChunks>[1];

const ACCOUNTS = 200;
const RUNS = 1000;
const CHUNKS = 50;

let postgres: MigratedDatabase;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060', '0070', '0071']);
  const { database } = postgres;
  await database.query(
    `INSERT INTO accounts (id, name) SELECT n, 'a' FROM generate_series(1, ${ACCOUNTS}) AS n`,
  );
  await database.query(
    `INSERT INTO campaigns (id, account_id, name, channel, definition) SELECT n, n, 'c', 'email', '{}' FROM generate_series(1, ${ACCOUNTS}) AS n`,
  );
  await database.query(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, deadline_at)
     SELECT n, 1 + n % ${ACCOUNTS}, 1 + n % ${ACCOUNTS}, 'send', CASE WHEN n <= ${RUNS} THEN 'sending' ELSE 'finished' END, now(),
       jsonb_build_object('channel', 'email', 'name', repeat('n', 500)), 1, now() + interval '1 day'
     FROM generate_series(1, ${2 * RUNS}) AS n`,
  );
  await database.query(
    `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished, next_at)
     SELECT n, c, 1 + n % ${ACCOUNTS}, 1 + n % ${ACCOUNTS}, 'email', '\\x00', 8, '', '\\x00', '\\x00', now() - n * interval '1 second' - c * interval '1 millisecond'
     FROM generate_series(1, ${RUNS}) AS n, generate_series(0, ${CHUNKS - 1}) AS c`,
  );
  await database.query('ANALYZE');
}, 120_000);
afterAll(() => postgres.close());

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Node[];
}

/** Rows that scans of each table came by, those that they passed over among them. */
function rowsRead(node: Node, byTable: Record<string, number> = {}): Record<string, number> {
  const table = node['Relation Name'];
  if (table !== undefined && node['Node Type'].endsWith('Scan')) {
    const passed =
      (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    const rows = Math.round((node['Actual Rows'] + passed) * node['Actual Loops']);
    byTable[table] = (byTable[table] ?? 0) + rows;
  }
  for (const child of node.Plans ?? []) rowsRead(child, byTable);
  return byTable;
}

/** Of one lease, which is rolled back. */
async function readOf(options: Pick<Lease, 'free' | 'max'>): Promise<Record<string, number>> {
  const { database } = postgres;
  let read: Record<string, number> | undefined;
  const explaining = {
    query: async (text: string, values: unknown[]) => {
      await database.query('BEGIN');
      const { rows } = await database.query<{ 'QUERY PLAN': { Plan: Node }[] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values,
      );
      await database.query('ROLLBACK');
      const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
      read = plan && rowsRead(plan.Plan);
      return { rows: [] };
    },
  };
  await leaseChunks(explaining as unknown as typeof database, {
    ...{ owner: 'x', leaseMs: 1000, perChannel: 1, ...options },
  });
  if (!read) throw new Error('PostgreSQL explained nothing');
  return read;
}

describe('a lease among 1,000 runs of 200 accounts with 50,000 chunks', () => {
  const RUNS_OF_CHANNEL = RUNS / ACCOUNTS;

  it.each([1, 8, 128])('reads one chunk of each run of %i channels', async (max) => {
    const read = await readOf({ free: [], max });
    // One to decide, and those that are leased.
    expect(read['message_chunks']).toBeLessThanOrEqual(max * RUNS_OF_CHANNEL + max);
    // Each channel once, its runs, and those of what is leased.
    expect(read['campaign_runs']).toBeLessThanOrEqual(ACCOUNTS + max * RUNS_OF_CHANNEL + max);
  });

  it('reads no chunk of channels without room', async () => {
    const free = Array.from({ length: ACCOUNTS }, (_, at) => ({
      ...{ accountId: at + 1, channel: 'email', chunks: at === 0 ? 1 : 0, held: 1 },
    }));
    const read = await readOf({ free, max: 128 });
    expect(read['message_chunks']).toBeLessThanOrEqual(RUNS_OF_CHANNEL + 1);
  });

  it('reads no chunk of paused runs, however many wait', async () => {
    await postgres.database.query('UPDATE campaign_runs SET paused = true WHERE id % 2 = 0');
    const read = await readOf({ free: [], max: 128 });
    await postgres.database.query('UPDATE campaign_runs SET paused = false');
    // Of every second account all runs are paused.
    expect(read['message_chunks']).toBeLessThanOrEqual((ACCOUNTS / 2) * (RUNS_OF_CHANNEL + 1));
  });
});
