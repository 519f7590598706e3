import type { ClickHouseClient } from '@clickhouse/client';
import { expect, it } from 'vitest';
import { computeHere } from './compute-here.ts';
import { LargeReports } from './few-events/large-reports.ts';
import { funnelOfMany } from './funnel/many/funnel-of-many.ts';
import { parseFunnel } from './funnel/request.ts';

it('a machine that has no memory for events runs the statement', async () => {
  const steps = [{ event: 'a' }, { event: 'b' }];
  const parsed = parseFunnel({ steps, from: '2026-09-01', to: '2026-09-02' });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  const failures: unknown[] = [];
  const refused = new RangeError('Array buffer allocation failed');
  const counting = {
    threads: {
      lease: () => {
        throw refused;
      },
    },
    ...{ tooLarge: new LargeReports(() => 0), kill: () => undefined },
    limits: () => Promise.resolve({}),
    onFailure: (error: unknown) => failures.push(error),
  };
  const statement = {
    ...{ accountId: 1, compiled: { sql: '', params: {} }, signal: new AbortController().signal },
    many: funnelOfMany(parsed.request, 1),
  };
  const computed = await computeHere({} as unknown as ClickHouseClient, statement, { counting });
  expect(computed).toEqual({ rowsRead: 0 });
  expect(failures).toEqual([refused]);
});
