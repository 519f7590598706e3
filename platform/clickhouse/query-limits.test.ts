import type { ClickHouseClient } from '@clickhouse/client';
import { expect, it } from 'vitest';
import { createLog } from '../log.ts';
import { exceedsMemory, limitSettings, memoryLimits, queryLimits } from './query-limits.ts';

const SHARE = { serverBytes: 8000, percent: 50, queries: 16 };

it('all queries together stay below the share of the server, with and without a user of their own', () => {
  expect(memoryLimits({ ...SHARE, hasOwnUser: true })).toEqual({ query: 2000, user: 4000 });
  const shared = memoryLimits({ ...SHARE, hasOwnUser: false });
  expect(shared).toEqual({ query: 250, user: undefined });
  expect(shared.query * SHARE.queries).toBeLessThanOrEqual(4000);
});

it('a limit for the user is sent only when no insert runs under it', () => {
  expect(limitSettings({ ...SHARE, hasOwnUser: true })).toMatchObject({
    max_memory_usage: '2000',
    max_memory_usage_for_user: '4000',
  });
  expect(limitSettings({ ...SHARE, hasOwnUser: false })).toEqual({
    max_memory_usage: '250',
    max_bytes_before_external_group_by: '125',
    max_bytes_before_external_sort: '125',
  });
});

it('the memory of the server is read once for many queries, and assumed small when it is unknown', async () => {
  let reads = 0;
  const answering = (value: string | undefined) => {
    const client = {
      query: () => {
        reads++;
        return value === undefined
          ? Promise.reject(new Error('refused'))
          : Promise.resolve({ json: () => Promise.resolve([{ value }]) });
      },
    } as unknown as ClickHouseClient;
    const log = createLog({ part: 'test', level: 'silent' });
    return queryLimits({ client, log, percent: 50, queries: 16, hasOwnUser: true });
  };
  const limits = answering('8000');
  expect(await limits()).toMatchObject({ max_memory_usage: '2000' });
  expect([await limits(), reads]).toEqual([await limits(), 1]);
  for (const unknown of [undefined, '0'])
    expect(await answering(unknown)()).toMatchObject({ max_memory_usage: String(2 ** 30) });
});

it('an error of ClickHouse about memory is recognised by its code', () => {
  expect(exceedsMemory(Object.assign(new Error('x'), { code: '241' }))).toBe(true);
  expect(exceedsMemory(Object.assign(new Error('x'), { code: '159' }))).toBe(false);
  expect(exceedsMemory('241')).toBe(false);
});
