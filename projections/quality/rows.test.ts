import { expect, it } from 'vitest';
import type { IngestOutcome } from '../../schemas/records.ts';
import { balanceRows, qualityRows } from './rows.ts';

const OUTCOME: IngestOutcome = {
  gateway: 'g',
  sequence: 4,
  account_id: 1,
  app_id: 2,
  received_at: Date.parse('2026-11-21T20:30:00Z'),
  source: 'sdk',
  received: 5,
  accepted: 3,
  duplicate: 0,
  rejected: 2,
  counts: [
    { kind: 'reject', code: 'missing_identity', field: '', sdk: 'web/1.0', count: 2 },
    { kind: 'warn', code: 'invalid_phone', field: 'phone', sdk: '', count: 1 },
  ],
  balance: null,
};

it('an outcome becomes one row for each count, under its day in Tehran', () => {
  const common = { account_id: 1, app_id: 2, gateway: 'g', sequence: 4, day: '2026-11-22' };
  expect(qualityRows(OUTCOME)).toEqual([
    { ...common, kind: 'reject', code: 'missing_identity', field: '', sdk: 'web/1.0', count: 2 },
    { ...common, kind: 'warn', code: 'invalid_phone', field: 'phone', sdk: '', count: 1 },
  ]);
  expect(
    qualityRows({
      ...OUTCOME,
      received_at: OUTCOME.received_at - 1,
      counts: OUTCOME.counts.slice(0, 1),
    }),
  ).toMatchObject([{ day: '2026-11-21' }]);
});

it('an outcome with the balance of an SDK becomes a row of it, with the size of the request', () => {
  const counts = { library: 'web', version: '1.0', client: 'c', made: 9, stored: 9, sent: 4 };
  const balance = { ...counts, dropped: [{ cause: 'full', count: 1 }] };
  const received_at = Date.parse('2026-11-21T20:30:00.287Z');
  expect(balanceRows({ ...OUTCOME, received_at, balance })).toEqual([
    {
      ...{ account_id: 1, app_id: 2, received_at: '1795293000.287', ...counts },
      ...{ dropped: { full: 1 }, in_request: 5 },
    },
  ]);
  expect(balanceRows(OUTCOME)).toEqual([]);
});
