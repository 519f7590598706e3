import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { compileExport } from './compile.ts';
import { readExport } from './request.ts';
import { RowCounter } from './row-counter.ts';

describe('readExport (management 4.2)', () => {
  const code = (body: unknown) => {
    const read = readExport(body);
    return read.ok ? read.draft.format : read.error.code;
  };

  it('accepts four kinds and two formats, ndjson by default', () => {
    for (const kind of ['events', 'messages', 'profiles']) expect(code({ kind })).toBe('ndjson');
    expect(code({ kind: 'segment', spec: { segment_id: 5 }, format: 'csv' })).toBe('csv');
    for (const kind of [undefined, 'people', 7, 'toString'])
      expect(code({ kind, format: 'xml' })).toBe('export_kind_invalid');
    for (const format of ['xml', 7])
      expect(code({ kind: 'events', format })).toBe('export_spec_invalid');
    expect(code([])).toBe('malformed_json');
  });

  it('accepts a spec that limits the time range, the events or the segment', () => {
    const read = readExport({
      kind: 'events',
      spec: { from: '2026-03-21', to: '2026-03-22T00:00:00Z', events: [' a  b '] },
    });
    expect(read.ok && read.spec).toEqual({
      from: Date.UTC(2026, 2, 20, 20, 30),
      to: Date.UTC(2026, 2, 22),
      events: ['a b'],
    });
    for (const spec of [
      7,
      { from: 'x' },
      { from: '2026-02-30' },
      { to: 5 },
      { events: 'a' },
      { events: [''] },
      { events: [1] },
    ])
      expect(code({ kind: 'events', spec })).toBe('export_spec_invalid');
    const messages = {
      campaign_id: 3,
      run_id: '05',
      status: ['failed', 'sent', 'sent'],
      from: '2026-03-22T00:00:00Z',
    };
    const ofMessages = readExport({ kind: 'messages', spec: { ...messages, events: ['a'] } });
    expect(ofMessages.ok && ofMessages.spec).toEqual({
      ...{ campaignId: '3', runId: '5', statuses: ['sent', 'failed'] },
      from: Date.UTC(2026, 2, 22),
    });
    expect(ofMessages.ok && ofMessages.draft.spec).toEqual({
      ...{ ...messages, campaign_id: '3', run_id: '5', status: ['sent', 'failed'] },
    });
    for (const spec of [{ campaign_id: 0 }, { run_id: 'x' }, { status: 'sent' }, { status: ['x'] }])
      expect(code({ kind: 'messages', spec })).toBe('export_spec_invalid');
    for (const segment_id of [undefined, 0, -1, 'x', [5], 1.5])
      expect(code({ kind: 'segment', spec: { segment_id } })).toBe('export_spec_invalid');
  });
});

it('the statement of an export binds every value of the client', () => {
  const params = new SqlParams();
  const spec = { from: 1, to: 2, events: ["'x"] };
  const sql = compileExport(
    { kind: 'events', format: 'csv', spec },
    { accountId: 7, now: 0, today: 0, merges: 'none', params },
  );
  expect(sql).toMatch(/ FORMAT CSVWithNames$/);
  expect(sql).not.toContain("'x");
  expect(Object.values(params.values())).toEqual(expect.arrayContaining([7, 1, 2, ["'x"]]));
});

describe('RowCounter', () => {
  const count = (format: 'ndjson' | 'csv', chunks: readonly Buffer[]) => {
    const counter = new RowCounter(format);
    for (const chunk of chunks) counter.count(chunk);
    return counter;
  };

  it('counts rows of csv with line breaks and quotes inside values, however the bytes are split', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', '\n', ',', 'ی') });
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { maxLength: 8 }), fc.nat(7), (rows, size) => {
        const text = [['h1', 'h2'], ...rows]
          .map((cells) => `${cells.map((one) => `"${one.replaceAll('"', '""')}"`).join(',')}\n`)
          .join('');
        const bytes = Buffer.from(text);
        const chunks = Array.from({ length: Math.ceil(bytes.length / (size + 1)) }, (_, at) =>
          bytes.subarray(at * (size + 1), (at + 1) * (size + 1)),
        );
        const counter = count('csv', chunks);
        expect([counter.rows, counter.bytes]).toEqual([rows.length, bytes.length]);
      }),
    );
  });

  it('counts lines of ndjson, and nothing in an empty file', () => {
    expect(count('ndjson', [Buffer.from('{}\n{'), Buffer.from('}\n')]).rows).toBe(2);
    expect(count('csv', []).rows).toBe(0);
  });
});
