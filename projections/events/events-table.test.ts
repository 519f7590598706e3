import { describe, expect, it } from 'vitest';
import type { EncodedRow } from './decode.ts';
import { classify, lookups } from './events-table.ts';

const SOURCE = { table: 'events', partition: 2 };

function row(fields: Partial<EncodedRow>): EncodedRow {
  return {
    position: { epoch: 0, offset: 1, index: 0 },
    account_id: 1,
    event: 'x',
    message_id: '',
    timestamp: Date.UTC(2026, 10, 21, 23, 59),
    received_at: 0,
    datum: Buffer.alloc(0),
    ...fields,
  };
}

describe('lookups', () => {
  it('select by account, event and day, and escape names that clients chose', () => {
    const [query] = lookups(SOURCE, [row({ event: "it's \\ 'x" })]);
    expect(query).toContain("IN ((1, 'it\\'s \\\\ \\'x', '2026-11-21'))");
    expect(query).toContain('_partition = 2 AND _offset BETWEEN 1 AND 1');
  });

  it('are split into several queries when there are many keys', () => {
    const rows = Array.from({ length: 1200 }, (_, n) => row({ event: `e${n}` }));
    expect(lookups(SOURCE, rows)).toHaveLength(3);
  });

  it('leave the day out for a timestamp that ClickHouse cannot convert to a date', () => {
    expect(lookups(SOURCE, [row({ timestamp: -1 })])[0]).toContain(
      "(account_id, event) IN ((1, 'x'))",
    );
  });
});

describe('classify', () => {
  const error = (code: string, message = 'x') => Object.assign(new Error(message), { code });
  it.each([
    [error('469'), 'refused'],
    [error('1001', 'avro::Exception, e.what() = EOF reached'), 'refused'],
    [error('1001', 'std::exception: disk'), 'uncertain'],
    [error('252', 'too many parts'), 'uncertain'],
    [error('241', 'memory limit'), 'uncertain'],
    [error('60', 'unknown table'), 'uncertain'],
    [error('ECONNREFUSED'), 'unsent'],
    [error('ECONNRESET'), 'uncertain'],
    [new Error('Timeout error.'), 'uncertain'],
    ['text', 'uncertain'],
  ])('reports an insert that failed with %s as %s', (cause, kind) => {
    expect(classify(cause).kind).toBe(kind);
  });
});
