import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AvroWriter } from './avro-writer.ts';
import {
  allSchemas,
  deadLetterCodec,
  fingerprintOf,
  identityCommandCodec,
  ingestOutcomeCodec,
  rawRecordCodec,
  rowBatchCodec,
  verdictRecordCodec,
} from './codec.ts';
import { encodeIngestOutcome } from './ingest-outcome-versions.ts';
import { loadSchemas } from './load.ts';
import { joinRowBatch, sliceRowBatch } from './row-batch.ts';
import { RowEncoder } from './row-encoder.ts';
import { rowReader } from './row-reader.ts';
import { NEWEST_ROW_VERSION, ROW_VERSIONS, rowVersionsOf, type RowField } from './row-versions.ts';

/** Written by commit ea2d082, the last one without event-row.v2. */
const WRITTEN_BEFORE = Buffer.from(
  readFileSync(join(import.meta.dirname, 'testing/row-batch.v1.base64'), 'utf8'),
  'base64',
);

/** By schema; written by the same commit. */
const RECORDS = JSON.parse(
  readFileSync(join(import.meta.dirname, 'testing/records.v1.json'), 'utf8'),
) as Record<string, string>;

const checkout = join(import.meta.dirname, '..');

describe('the schemas of records in the log', () => {
  it('keep their fingerprints: a changed one makes what is in the log unreadable', () => {
    const found = Object.fromEntries(allSchemas().map(({ id, type }) => [id, fingerprintOf(type)]));
    expect(found).toEqual({
      'channel-command.v1': 'dbfa6cf7760fd1c4',
      'dead-letter.v1': 'e94edab8afc985be',
      'dead-letter.v2': '1c5dd87fac015893',
      'erasure-command.v1': '34177d783b8ada4b',
      'event-row.v1': '9fab38799f60d5a4',
      'event-row.v2': 'dc87ac060cc7cea7',
      'identity-command.v1': '682014daf4106120',
      'identity-command.v2': 'd6a990cc907c8f77',
      'ingest-outcome.v1': 'c6ea7c713c6b7ec2',
      'ingest-outcome.v2': 'c050f43b958324c5',
      'message-chunk.v1': 'b93e2a53911e26be',
      'message-outcome.v1': '63b02ef93cc74df3',
      'normalised-run.v1': 'd42423d23fd14f8b',
      'normalised-run.v2': '1b05b2b2bafdad7a',
      'raw-record.v1': '7bf96c175ed70486',
      'raw-record.v2': '9606fb0717e0eae5',
      'raw-batch.v1': 'f424b3203ea37bd0',
      'verdict-record.v1': 'b9517506c685f995',
    });
  });
});

describe('a record of an earlier release', () => {
  const of = (id: string) => Buffer.from(RECORDS[id] ?? '', 'base64');

  it('is read by every codec, whatever versions came later', () => {
    const raw = {
      ...{ account_id: 7, trace: '0123456789abcdef', user_agent: 'سلام', sequence: 9 },
      items: [{ message_id: 'm', dedupe_id: 'd', timestamp: 1_789_000_000_000 }],
      redriven_from: { epoch: 0, partition: 1, offset: 2, index: 0 },
    };
    expect(rawRecordCodec.decode(of('raw-record.v1'))).toMatchObject({ ...raw, delivery: null });
    expect(rawRecordCodec.decode(of('raw-record.v2'))).toMatchObject({
      ...raw,
      delivery: { source: 'hosted_storefront', topic: 'orders/create' },
    });
    expect(deadLetterCodec.decode(of('dead-letter.v1'))).toMatchObject({
      ...{ stage: 'normalise', reason: 'not_normalisable', partition: 2, offset: 73, index: null },
      ...{ events: 2, account_id: 7, key: Buffer.from('k'), value: Buffer.from('v') },
    });
    expect(ingestOutcomeCodec.decode(of('ingest-outcome.v1'))).toMatchObject({
      ...{ gateway: 'g', sequence: 4, received: 5, accepted: 2, duplicate: 1, rejected: 2 },
      balance: null,
      counts: [{ kind: 'reject', code: 'c', field: 'f', sdk: 's', count: 2 }],
    });
    expect(verdictRecordCodec.decode(of('verdict-record.v1'))).toMatchObject({
      ...{ partition: 3, verdicts: [{ offset: 4, index: 1, verdict: 'duplicate' }] },
    });
    expect(identityCommandCodec.decode(of('identity-command.v1'))).toMatchObject({
      ...{ account_id: 7, command: 'undo', previous_id: 'anon', until: 1_789_000_000_500 },
    });
  });
});

it('an outcome is written as earlier releases read it, unless it has a balance', () => {
  const of = ingestOutcomeCodec.decode(Buffer.from(RECORDS['ingest-outcome.v1'] ?? '', 'base64'));
  expect(encodeIngestOutcome(of).toString('base64')).toBe(RECORDS['ingest-outcome.v1']);
  const balance = {
    ...{ library: 'ravand-browser', version: '1.0.0', client: 'c', made: 3, stored: 3, sent: 1 },
    dropped: [{ cause: 'full', count: 1 }],
  };
  const written = encodeIngestOutcome({ ...of, balance });
  expect(ingestOutcomeCodec.decode(written)).toEqual({ ...of, balance });
});

describe('a row batch of an earlier release', () => {
  it('is sliced, joined to the same bytes, and read with an empty trace', () => {
    const batch = sliceRowBatch(WRITTEN_BEFORE);
    expect(batch).toMatchObject({ version: 1, count: 3, head: { partition: 3, last_index: 4 } });
    expect(batch && joinRowBatch(batch)).toEqual(WRITTEN_BEFORE);
    const read = rowReader({
      fields: ['_index', 'event', 'user_id', 'traits', '_trace'],
      row: ({ _index, event, user_id, traits, _trace }) => ({
        _index,
        event,
        user_id,
        traits,
        _trace,
      }),
    });
    expect(read({ value: WRITTEN_BEFORE })).toMatchObject([
      { _index: 0, event: 'خرید', user_id: 'u-0', traits: { first_name: 'سارا' }, _trace: '' },
      { _index: 1, event: '', user_id: 'u-1', _trace: '' },
      { _index: 4, user_id: 'u-4', _trace: '' },
    ]);
  });

  it('is written again, byte for byte, by the encoder of its version', () => {
    const { rows, ...head } = rowBatchCodec.decode(WRITTEN_BEFORE);
    const writer = new AvroWriter(64);
    const encoder = new RowEncoder();
    for (const row of rows) encoder.encode({ ...row, _trace: 'not in v1' }, writer, 1);
    const encoded = writer.bytes(0, writer.end);
    expect(joinRowBatch({ version: 1, head, count: rows.length, rows: encoded })).toEqual(
      WRITTEN_BEFORE,
    );
  });
});

describe('a later version of event-row', () => {
  const next = NEWEST_ROW_VERSION + 1;

  it('is a file: rows of all versions are written and read, and nothing else changes', () => {
    withNextVersion({ name: '_added', type: 'long', default: 5 }, (folder) => {
      const script = `
        import { allSchemas, fingerprintOf, rowBatchCodec } from './schemas/codec.ts';
        import { AvroWriter } from './schemas/avro-writer.ts';
        import { joinRowBatch } from './schemas/row-batch.ts';
        import { RowEncoder } from './schemas/row-encoder.ts';
        import { ROW_VERSIONS } from './schemas/row-versions.ts';
        import { decodeRecord, splitRows } from './projections/events/decode.ts';
        import { columnsOf } from './projections/events/insert-batch.ts';
        import { nativeBlock } from './projections/events/native/block.ts';
        const read = Buffer.from(process.argv[1], 'base64');
        const { rows: [row], ...head } = rowBatchCodec.decode(read);
        const versions = ROW_VERSIONS.map(({ version }) => {
          const writer = new AvroWriter(64);
          new RowEncoder().encode({ ...row, _trace: 't' }, writer, version);
          const rows = Buffer.from(writer.bytes(0, writer.end));
          const value = joinRowBatch({ version, head, count: 1, rows });
          const message = { topic: '', partition: head.partition, offset: 0, timestamp: 0, key: null };
          const { rowBatch } = decodeRecord({ ...message, value, size: value.length });
          const [datum] = splitRows(rowBatch);
          const block = nativeBlock({ version, count: 1, datums: [rows] });
          const { _trace, _added } = rowBatchCodec.decode(value).rows[0];
          return { version, _trace, _added, user: datum.message_id, inserted: block.columns.at(-1),
            columns: columnsOf(version).slice(-2) };
        });
        const prints = Object.fromEntries(allSchemas().map((s) => [s.id, fingerprintOf(s.type)]));
        console.log(JSON.stringify({ first: row._added, versions, prints }));`;
      const node = ['--input-type=module-typescript', '-e', script];
      const answer = execFileSync(
        process.execPath,
        [...node, '--', WRITTEN_BEFORE.toString('base64')],
        { cwd: folder, encoding: 'utf8', timeout: 60_000 },
      );
      const { prints, ...found } = JSON.parse(answer) as { prints: Record<string, string> };
      const shared = { user: 'm-0', _added: 5 };
      expect(found).toEqual({
        first: 5,
        versions: [
          {
            version: 1,
            _trace: '',
            ...shared,
            inserted: 'city',
            columns: ['region', 'city'],
          },
          { version: 2, _trace: 't', ...shared, inserted: '_trace', columns: ['city', '_trace'] },
          {
            version: next,
            _trace: 't',
            ...shared,
            inserted: '_added',
            columns: ['_trace', '_added'],
          },
        ],
      });
      for (const { id, type } of allSchemas()) expect(prints[id]).toBe(fingerprintOf(type));
      expect(Object.keys(prints)).toContain(`normalised-run.v${next}`);
    });
  });

  it('is refused when it changes a field, or adds one without a default', () => {
    for (const field of [
      { name: '_added', type: 'long' },
      { name: '_trace', type: 'long', default: 0 },
    ])
      withNextVersion(field, (folder) => {
        const load = () => rowVersionsOf(loadSchemas(join(folder, 'schemas')));
        expect(load).toThrow(`event-row.v${next}.avsc: keep the fields`);
      });
  });
});

/** A copy of the code that knows one more version of event-row, in a temporary folder. */
function withNextVersion(field: RowField, use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'ravand-schemas-'));
  try {
    for (const part of ['schemas', 'projections', 'platform', 'events', 'package.json'])
      cpSync(join(checkout, part), join(folder, part), { recursive: true });
    symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
    const newest = join(folder, `schemas/event-row.v${NEWEST_ROW_VERSION}.avsc`);
    const schema = JSON.parse(readFileSync(newest, 'utf8')) as { fields: RowField[] };
    schema.fields = [...schema.fields.filter(({ name }) => name !== field.name), field];
    const added = join(folder, `schemas/event-row.v${NEWEST_ROW_VERSION + 1}.avsc`);
    writeFileSync(added, JSON.stringify(schema));
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

it('Every version of event-row has a row batch of the same number', () => {
  expect(ROW_VERSIONS.map(({ version }) => version)).toEqual(
    allSchemas()
      .filter(({ subject }) => subject === 'event-row')
      .map(({ version }) => version),
  );
});
