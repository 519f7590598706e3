import { describe, expect, it } from 'vitest';
import type { IngestSummary } from '../../ingest/result.ts';
import { renderSummary, renderFailure } from './render.ts';

const nothing: IngestSummary = {
  accepted: 0,
  duplicates: 0,
  rejected: 0,
  warnings: [],
  errors: [],
};

describe('the answer to an accepted request', () => {
  it.each<[string, 'single' | 'batch', Partial<IngestSummary>, string]>([
    ['an event', 'single', { accepted: 1 }, '{"status":"ok","accepted":1}'],
    [
      'a duplicate event, like a first delivery',
      'single',
      { accepted: 1, duplicates: 1 },
      '{"status":"ok","accepted":1}',
    ],
    [
      'an event with a warning',
      'single',
      { accepted: 1, warnings: [{ code: 'timestamp_in_future', field: 'timestamp' }] },
      '{"status":"ok","accepted":1,"warnings":[{"code":"timestamp_in_future","field":"timestamp"}]}',
    ],
    ['a batch', 'batch', { accepted: 3 }, '{"status":"ok","accepted":3}'],
    [
      'a batch with duplicates and rejected items',
      'batch',
      {
        accepted: 2,
        duplicates: 1,
        rejected: 1,
        errors: [{ index: 2, reason: 'missing_identity' }],
      },
      '{"status":"ok","accepted":2,"duplicates":1,"rejected":1,"errors":[{"index":2,"reason":"missing_identity"}]}',
    ],
    [
      'a batch of invalid items',
      'batch',
      { rejected: 1, errors: [{ index: 0, reason: 'id_too_long' }] },
      '{"status":"ok","rejected":1,"errors":[{"index":0,"reason":"id_too_long"}]}',
    ],
  ])('has the counts that are not zero: %s', (_, shape, summary, body) =>
    expect(renderSummary(shape, { ...nothing, ...summary })).toEqual({ status: 200, body }),
  );
});

describe('the answer to a failure', () => {
  it('has the sentence of the code, or the reason of a rejection', () => {
    expect(renderFailure({ code: 'malformed_json' })).toEqual({
      status: 400,
      body: '{"status":"error","message":"malformed JSON"}',
    });
    expect(renderFailure({ code: 'rejected', message: 'batch_empty' })).toEqual({
      status: 400,
      body: '{"status":"error","message":"batch_empty"}',
    });
  });

  it('has Retry-After only where the specification says so', () => {
    expect(renderFailure({ code: 'key_unverified' }).headers).toEqual(['Retry-After', '5']);
    expect(renderFailure({ code: 'unavailable' }).headers).toBeUndefined();
  });
});
