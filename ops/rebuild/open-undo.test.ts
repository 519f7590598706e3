import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import type { Connections } from '../jobs/connections.ts';
import { abandonJob, openUndo } from './open-job.ts';
import { parseRebuildLine } from './request.ts';

const SWAPPED_AT = '2026-11-20T08:00:00.000Z';
let postgres: BooksDatabase;
/** UUIDs of the tables of ClickHouse by name. */
let tables: Map<string, string>;
let commands: string[];

beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
}, 120_000);
beforeEach(async () => {
  await query('TRUNCATE log_jobs RESTART IDENTITY CASCADE');
  tables = new Map([
    ['events', 'new'],
    ['events_rebuilt', 'old'],
  ]);
  commands = [];
  await job({ plan: {}, counts: { swapped_at: SWAPPED_AT, exchanging: 'new', former: 'old' } });
});
afterAll(() => postgres.close());

const query = (text: string, values?: unknown[]) => postgres.database.query(text, values);
const job = ({ plan, counts, state = 'cancelled', target = 'events_rebuilt' }: Stored) =>
  query(
    `INSERT INTO log_jobs (kind, command, target, state, plan, counts) VALUES ('rebuild', 'x', $1, $2, $3, $4)`,
    [
      ...[target, state],
      JSON.stringify({ projection: 'events', source: 'raw', ...plan }),
      JSON.stringify(counts),
    ],
  );

interface Stored {
  plan: Record<string, unknown>;
  counts: Record<string, unknown>;
  state?: string;
  target?: string;
}

/** The tables of ClickHouse as far as jobs ask for them. */
const clickhouse = {
  query: ({ query_params: { name, id } }: { query_params: { name?: string; id?: string } }) => {
    const found = [...tables].find(([one, uuid]) =>
      name === undefined ? uuid === id : one === name,
    );
    const rows = found && (name ?? id) !== undefined ? [{ name: found[0], id: found[1] }] : [];
    return Promise.resolve({ json: () => Promise.resolve(rows) });
  },
  command: ({ query: text }: { query: string }) => Promise.resolve(commands.push(text)),
};
const connections = () =>
  ({
    database: postgres.database,
    clickhouse,
    settings: { CLICKHOUSE_CLUSTER: '', CLICKHOUSE_DATABASE: 'ravand' },
  }) as unknown as Connections;

describe('an undo that was refused and is repeated', () => {
  const refused = { swapped_at: null, exchanging: null, former: null };

  it('still asks what was written since the swap, not since the first attempt', async () => {
    await openUndo(connections(), 'events');
    await query(`UPDATE log_jobs SET state = 'finished' WHERE id = 2`);
    const again = await openUndo(connections(), 'events');
    expect(again).toMatchObject({ isSwapped: false, suffix: 'rebuilt' });
    expect(again.job.id).toBe(2);
    expect(new Date(again.since).toISOString()).toBe(SWAPPED_AT);
  });

  it('finds the former table under its new name, never a new rebuild with the old one', async () => {
    await job({ plan: { undoes: 1 }, counts: refused, state: 'finished' });
    // A rebuild into the same name has moved the former table away.
    tables.set('events_former_1', 'old').set('events_rebuilt', 'third');
    await job({ plan: {}, counts: refused, state: 'running' });
    const { job: found, suffix } = await openUndo(connections(), 'events');
    expect([found.id, suffix]).toEqual([2, 'former_1']);
  });

  it('undoes the last swap, when there was another one meanwhile', async () => {
    await job({ plan: { undoes: 1 }, counts: refused, state: 'finished' });
    const swapped_at = '2026-11-21T08:00:00.000Z';
    await job({ plan: {}, counts: { swapped_at, exchanging: 'newest', former: 'new' } });
    tables = new Map([
      ['events', 'newest'],
      ['events_second', 'new'],
      ['events_rebuilt', 'old'],
    ]);
    const found = await openUndo(connections(), 'events');
    expect([found.job.plan.undoes, found.suffix]).toEqual([3, 'second']);
    expect(new Date(found.since).toISOString()).toBe(swapped_at);
  });

  it('keeps its table when it is cancelled, and goes on from there', async () => {
    await openUndo(connections(), 'events');
    await query(`UPDATE log_jobs SET state = 'finished', positions = '{"0": 9}' WHERE id = 2`);
    const line = parseRebuildLine(['events', '--cancel']);
    expect(await abandonJob(connections(), line, 'events_rebuilt')).toEqual({
      id: 2,
      isKept: true,
    });
    expect(commands).toEqual([]);
    const { job: found } = await openUndo(connections(), 'events');
    expect([found.id, found.positions]).toEqual([2, { 0: 9 }]);
  });
});
