import { expect, it } from 'vitest';
import type { IngestOutcome } from '../../schemas/records.ts';
import { qualityRows } from './rows.ts';

it('an outcome becomes one row for each count, under its day in Tehran', () => {
  const outcome: IngestOutcome = {
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
  };
  const common = { account_id: 1, app_id: 2, gateway: 'g', sequence: 4, day: '2026-11-22' };
  expect(qualityRows(outcome)).toEqual([
    { ...common, kind: 'reject', code: 'missing_identity', field: '', sdk: 'web/1.0', count: 2 },
    { ...common, kind: 'warn', code: 'invalid_phone', field: 'phone', sdk: '', count: 1 },
  ]);
  expect(
    qualityRows({
      ...outcome,
      received_at: outcome.received_at - 1,
      counts: outcome.counts.slice(0, 1),
    }),
  ).toMatchObject([{ day: '2026-11-21' }]);
});
