import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import type { RebuildCounts } from './rebuild-job.ts';
import { parseRebuildLine } from './request.ts';
import { swapObstacle } from './swap-obstacles.ts';

const HOUR = 3_600_000;
const SINCE = Date.now() - HOUR;
const COUNTS: RebuildCounts = {
  ...{ records: 9, rows: 9, shortest_window: null, swapped_at: null, exchanging: null },
};

let postgres: BooksDatabase;
beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
}, 120_000);
beforeEach(() =>
  query(
    'TRUNCATE log_jobs, dead_letters, retention_steps, retention_runs RESTART IDENTITY CASCADE',
  ),
);
afterAll(() => postgres.close());

const query = (text: string, values?: unknown[]) => postgres.database.query(text, values);
const obstacle = (
  args: readonly string[] = ['events', '--swap'],
  found: Partial<Parameters<typeof swapObstacle>[1]> = {},
) =>
  swapObstacle(postgres.database, {
    line: parseRebuildLine([...args]),
    ...{ since: SINCE, counts: COUNTS, gaps: [], comparison: null },
    ...found,
  });
const replayed = (state: string, at: number, counts: Record<string, number>) =>
  query(
    `INSERT INTO log_jobs (kind, command, target, state, plan, counts, finished_at) VALUES ('replay', 'replay', 'events', $1, '{}', $2, $3)`,
    [state, JSON.stringify(counts), state === 'running' ? null : new Date(at)],
  );
const redriven = (stage: string, at: number) =>
  query(
    // eslint-disable-next-line local/banned-words -- the name of the column
    `INSERT INTO dead_letters (letter, dead_partition, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, events, message_id, failed_at, state, changed_at)
     VALUES ($1, 0, 0, $1, 'x', 'x', 'events.raw', 0, 0, 1, '', now(), 'redriven', $2)`,
    [stage, new Date(at)],
  );

describe('a rebuilt table is swapped in', () => {
  it('when nothing speaks against it', async () => {
    expect(await obstacle()).toBeUndefined();
  });

  it('not when the log no longer reaches back, unless gaps are accepted', async () => {
    const found = { gaps: ['events.raw 1 begins at offset 7', 'events.raw 2 is empty'] };
    expect(await obstacle(undefined, found)).toContain('events.raw 1 begins at offset 7, and 1');
    expect(await obstacle(['events', '--swap', '--accept-gaps'], found)).toBeUndefined();
  });

  it('not when duplicates may be in it: their window did not fit into memory', async () => {
    const found = { counts: { ...COUNTS, shortest_window: 390_000 } };
    expect(await obstacle(undefined, found)).toContain('covered only 6 minutes');
    expect(await obstacle(['events', '--swap', '--accept-gaps'], found)).toBeUndefined();
  });

  it('not when more differs than is allowed', async () => {
    const comparison = {
      ...{ live: 9, rebuilt: 9, compared: 9, equal: 7, moved_on: 0, differing: 2, examples: [] },
    };
    const swapped = (most: string) =>
      obstacle(['events', '--compare', '--swap', '--max-differing', most], { comparison });
    expect(await swapped('1')).toBe('2 differ, and --max-differing is 1');
    expect(await swapped('2')).toBeUndefined();
  });

  it('not when a replay has added rows since it began, or still runs', async () => {
    await replayed('finished', SINCE - 1, { new: 5 });
    await replayed('finished', SINCE + 1, { new: 0 });
    expect(await obstacle()).toBeUndefined();
    await replayed('finished', SINCE + 1, { new: 5 });
    expect(await obstacle()).toContain('a replay (job 3) has added rows to the live table');
    // Rows that a replay adds change nothing else.
    expect(await obstacle(['profiles', '--swap'])).toBeUndefined();
    await query('DELETE FROM log_jobs');
    await replayed('running', 0, {});
    expect(await obstacle()).toContain('has not finished');
  });

  it('not when a redrive has stored rows since it began', async () => {
    await redriven('project', SINCE - 1);
    // Published again: the rebuild reads the new record.
    await redriven('normalise', SINCE + 1);
    expect(await obstacle()).toBeUndefined();
    await query('UPDATE dead_letters SET changed_at = now()');
    expect(await obstacle()).toContain('a redrive has stored 1 dead letters');
  });

  it.each([
    `INSERT INTO retention_steps (account_id, day, below, received_before, counts) VALUES (1, now(), now(), now(), '[]')`,
    'INSERT INTO retention_runs (day) VALUES (now())',
  ])('not while retention deletes and books rows: %s', async (step) => {
    await query(step);
    expect(await obstacle()).toContain('retention is deleting rows of events');
    expect(await obstacle(['profiles', '--swap'])).toBeUndefined();
  });
});
