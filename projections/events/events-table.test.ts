import type { ClickHouseClient } from '@clickhouse/client';
import { describe, expect, it } from 'vitest';
import { eventRowCodec } from '../../schemas/codec.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import type { EncodedRow } from './decode.ts';
import { classify, clickhouseEventsTable, lookups } from './events-table.ts';
import { rowAt } from './testing/row-records.ts';

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

describe('an insert', () => {
  const datum = eventRowCodec.type.toBuffer(rowAt(1));
  const batch = { token: 't', queryId: 'q', version: NEWEST_ROW_VERSION, count: 1 };

  it('of bytes that are not its rows is refused before it is sent', async () => {
    const client = {} as unknown as ClickHouseClient;
    const table = clickhouseEventsTable({ client, cluster: '' });
    const insert = { ...batch, datums: [datum.subarray(0, -1), Buffer.of(2)] };
    expect(await table.insert(insert, AbortSignal.timeout(1000))).toMatchObject({
      kind: 'refused',
      code: 'UNREADABLE_ROWS',
    });
  });

  it('names the columns that have a value, and its token', async () => {
    const calls: { query: string; token: unknown }[] = [];
    const client = {
      exec: ({ query, clickhouse_settings }: Parameters<ClickHouseClient['exec']>[0]) => {
        calls.push({ query, token: clickhouse_settings?.insert_deduplication_token });
        return Promise.reject(new Error('read ECONNRESET'));
      },
    } as unknown as ClickHouseClient;
    const table = clickhouseEventsTable({ client, cluster: '' });
    const outcome = await table.insert({ ...batch, datums: [datum] }, AbortSignal.timeout(1000));
    expect(outcome.kind).toBe('uncertain');
    expect(calls).toEqual([
      {
        query: 'INSERT INTO events (_partition, _offset, event, message_id) FORMAT Native',
        token: 't',
      },
    ]);
  });
});
