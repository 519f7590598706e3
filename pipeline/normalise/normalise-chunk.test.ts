import { describe, expect, it } from 'vitest';
import type { ClaimResolution } from '../../events/claims/resolution.ts';
import { rowBatchCodec, rawRecordCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { claimsToResolve } from '../../events/raw/record-claims.ts';
import {
  normaliseChunk,
  splitIntoChunks,
  type NormalisedChunk,
  type Chunk,
} from './normalise-chunk.ts';
import { DecodedRecord, decodeRecords } from '../../events/raw/decode-record.ts';
import { rowTools } from './row-tools.ts';
import {
  sampleEvent,
  sampleMessage,
  sampleRecord,
  sampleBatch,
} from '../../events/testing/raw-records.ts';
import { redrivenRecords } from '../dead-letters/redriven-record.ts';

const position = { epoch: 0, partition: 0, offset: 1, index: 0 };
const FIRST: ClaimResolution = { verdict: 'first' };
const now = 1_790_000_100_000;

function chunkOf(rawRecords: (RawRecord | Buffer)[], resolutions?: ClaimResolution[]): Chunk {
  const records = rawRecords.flatMap((record, at) =>
    decodeRecords(sampleMessage(record, { partition: 2, offset: 100 + at })),
  );
  const claims = claimsToResolve(records, () => 0);
  return { records, claims, resolutions: resolutions ?? claims.map(() => FIRST) };
}

function normalised(chunk: Chunk): NormalisedChunk {
  return normaliseChunk(chunk, {
    ...rowTools({ limits: { rows: 1000, bytes: 100_000, rowBytes: 100_000 }, userAgents: 10 }),
    now,
  });
}

const rowsOf = ({ rowBatches }: NormalisedChunk) =>
  rowBatches.flatMap(({ value }) => rowBatchCodec.decode(value).rows);
const three = sampleRecord([sampleEvent('a'), sampleEvent('b'), sampleEvent('c')]);

describe('normalising a chunk', () => {
  it('publishes the rows of accepted events at their positions', () => {
    const chunk = normalised(chunkOf([three]));
    expect(rowsOf(chunk)).toMatchObject(
      ['a', 'b', 'c'].map((message_id, _index) => ({
        message_id,
        _partition: 2,
        _offset: 100,
        _index,
        locale: 'fa-IR',
      })),
    );
    expect(chunk).toMatchObject({
      deadLetters: [],
      verdicts: [],
      counts: { published: 3, dead: 0 },
      processed: 3,
      dead: 0,
    });
  });

  it('publishes a replayed event again, and only a verdict for a repeat or duplicate', () => {
    const chunk = normalised(
      chunkOf(
        [three],
        [
          { verdict: 'replay' },
          { verdict: 'repeat', position },
          { verdict: 'duplicate', position },
        ],
      ),
    );
    expect(rowsOf(chunk).map(({ message_id }) => message_id)).toEqual(['a']);
    expect(chunk.verdicts).toEqual([
      { offset: 100, index: 1, account_id: 1, received_at: three.received_at, verdict: 'repeat' },
      {
        offset: 100,
        index: 2,
        account_id: 1,
        received_at: three.received_at,
        verdict: 'duplicate',
      },
    ]);
    expect(chunk).toMatchObject({
      deadLetters: [],
      counts: { published: 0, replayed: 1, repeat: 1, duplicate: 1 },
      processed: 3,
      dead: 0,
    });
  });

  it('publishes an event beyond the retention limit together with the verdict that it is expired', () => {
    const old = {
      ...three,
      items: three.items.map((item, at) => ({ ...item, timestamp: now - 400 * 86_400_000 + at })),
    };
    const chunk = normalised(chunkOf([old]));
    expect(rowsOf(chunk).length).toBe(3);
    expect(chunk.verdicts).toMatchObject([{ index: 0, verdict: 'expired' }]);
  });

  it('sends an item that the body does not contain to the dead letters, with the whole record', () => {
    const broken = {
      ...three,
      items: three.items.map((item) => (item.at === 1 ? { ...item, at: 9 } : item)),
    };
    const chunk = normalised(chunkOf([broken]));
    expect(rowsOf(chunk).map(({ message_id }) => message_id)).toEqual(['a', 'c']);
    expect(chunk.deadLetters).toMatchObject([
      {
        stage: 'normalise',
        reason: 'item_missing',
        topic: 'events.raw',
        partition: 2,
        offset: 100,
        index: 1,
        events: 1,
        account_id: 1,
        message_id: 'b',
        failed_at: now,
      },
    ]);
    expect(chunk.deadLetters[0]?.value).toEqual(rawRecordCodec.encode(broken));
    expect(chunk.verdicts).toMatchObject([{ offset: 100, index: 1, verdict: 'dead' }]);
    expect(chunk).toMatchObject({ counts: { published: 2, dead: 1 }, processed: 3, dead: 1 });
  });

  it('sends an event that cannot be encoded to the dead letters, and publishes the other events', () => {
    const broken = {
      ...three,
      items: three.items.map((item) => (item.at === 1 ? { ...item, timestamp: 0.5 } : item)),
    };
    const good = chunkOf([three]);
    const chunk = normalised({
      ...good,
      records: good.records.map((result) => {
        if (result.state !== 'decoded' || !result.scanned) return result;
        const { source, scanned, bytes, bodyStart, bodyEnd } = result;
        return new DecodedRecord(source, { record: broken, bytes, bodyStart, bodyEnd }, scanned);
      }),
    });
    expect(rowsOf(chunk).map(({ message_id }) => message_id)).toEqual(['a', 'c']);
    expect(chunk.deadLetters).toMatchObject([{ reason: 'not_normalisable', index: 1 }]);
  });

  it('writes one dead letter for a record whose events all fail for the same reason', () => {
    const chunk = normalised(
      chunkOf([{ ...three, items: three.items.map((item) => ({ ...item, at: item.at + 9 })) }]),
    );
    expect(chunk.deadLetters).toMatchObject([
      { reason: 'item_missing', index: null, events: 3, message_id: '' },
    ]);
    expect(chunk.verdicts.map(({ index, verdict }) => [index, verdict])).toEqual(
      [0, 1, 2].map((index) => [index, 'dead']),
    );
  });

  it('writes one dead letter for the events of a record that fail for one reason, and lists them', () => {
    const many = sampleRecord(
      Array.from({ length: 500 }, (_, at) => sampleEvent(`m${at}`)),
      { gateway: 'g', sequence: 0 },
    );
    const isFailing = (at: number) => at % 3 === 1;
    const chunk = normalised(
      chunkOf([
        {
          ...many,
          items: many.items.map((one, at) => (isFailing(at) ? { ...one, at: 999 } : one)),
        },
      ]),
    );
    const indexes = many.items.flatMap((_, at) => (isFailing(at) ? [at] : []));
    expect(chunk.deadLetters).toMatchObject([
      { reason: 'item_missing', index: 1, indexes, events: indexes.length, message_id: 'm1' },
    ]);
    expect(chunk.verdicts.map(({ index }) => index)).toEqual(indexes);
    const bytes = chunk.deadLetters.reduce((sum, { value }) => sum + value.length, 0);
    expect(bytes).toBeLessThan(2 * rawRecordCodec.encode(many).length);
  });

  it('sends undecodable records to the dead letters, and processes the records around them', () => {
    const chunk = normalised(
      chunkOf([
        three,
        Buffer.from('poison'),
        { ...three, body: Buffer.from('{') },
        sampleRecord([sampleEvent('d')]),
      ]),
    );
    expect(rowsOf(chunk).map(({ message_id, _offset }) => [message_id, _offset])).toEqual([
      ['a', 100],
      ['b', 100],
      ['c', 100],
      ['d', 103],
    ]);
    expect(chunk.deadLetters).toMatchObject([
      {
        reason: 'not_single_object',
        offset: 101,
        index: null,
        events: 0,
        account_id: null,
        value: Buffer.from('poison'),
      },
      { reason: 'body_not_json', offset: 102, index: null, events: 3, account_id: 1 },
    ]);
    expect(chunk.verdicts.map(({ offset, index }) => [offset, index])).toEqual([
      [102, 0],
      [102, 1],
      [102, 2],
    ]);
    expect(chunk).toMatchObject({ counts: { published: 4, dead: 3 }, processed: 8, dead: 4 });
  });
});

describe('normalising a batch', () => {
  const dead = (at: number) => ({
    ...three,
    account_id: 2,
    sequence: 20,
    items: three.items.map((item) => (item.at === at ? { ...item, at: 9 } : item)),
  });
  const other = sampleRecord([sampleEvent('d')], { account_id: 3, sequence: 50 });
  const all = { ...three, items: three.items.map((item) => ({ ...item, at: item.at + 9 })) };
  const redriven = ({ deadLetters }: NormalisedChunk, at = 0) => {
    const deadLetter = deadLetters[at];
    const made = deadLetter && redrivenRecords(deadLetter, deadLetter.value, 0);
    return made?.kind === 'records' ? made.records : [];
  };

  it('publishes the rows of its records under its numbers', () => {
    const chunk = normalised(chunkOf([sampleBatch([three, other, dead(-1)])]));
    expect(
      rowsOf(chunk).map(({ message_id, account_id, _offset, _index }) => [
        ...[message_id, account_id, _offset, _index],
      ]),
    ).toEqual([
      ...['a', 'b', 'c'].map((id, index) => [id, 1, 100, index]),
      ['d', 3, 100, 3],
      ...['a', 'b', 'c'].map((id, index) => [id, 2, 100, 4 + index]),
    ]);
    expect(chunk).toMatchObject({ counts: { published: 7 }, processed: 7, deadLetters: [] });
  });

  it('sends an event to the dead letters with its record alone, from which it can be redriven', () => {
    const chunk = normalised(chunkOf([sampleBatch([other, dead(1)])]));
    expect(chunk.deadLetters).toMatchObject([
      { reason: 'item_missing', offset: 100, index: 2, events: 1, account_id: 2, message_id: 'b' },
    ]);
    expect(chunk.verdicts).toMatchObject([{ offset: 100, index: 2, verdict: 'dead' }]);
    expect(redriven(chunk)).toMatchObject([
      {
        ...{ account_id: 2, sequence: 21, items: [dead(1).items[1]] },
        redriven_from: { offset: 100, index: 2 },
      },
    ]);
  });

  it('names the items of a record that fails as a whole: others have the same offset', () => {
    const chunk = normalised(chunkOf([sampleBatch([other, all, { ...three, body: all.body }])]));
    expect(chunk.deadLetters).toMatchObject([
      { reason: 'item_missing', index: 1, indexes: [1, 2, 3], events: 3, message_id: '' },
    ]);
    expect(redriven(chunk)).toMatchObject([
      { items: all.items, redriven_from: { offset: 100, index: 1 } },
    ]);
    const noJson = { ...three, body: Buffer.from('{') };
    const undecodable = normalised(chunkOf([sampleBatch([other, noJson])]));
    expect(undecodable.verdicts.map(({ index }) => index)).toEqual([1, 2, 3]);
    expect(redriven(undecodable)).toMatchObject([
      { items: three.items, redriven_from: { index: 1 } },
    ]);
    const damaged = normalised(chunkOf([sampleBatch([other, { items: 2, value: Buffer.of(1) }])]));
    expect(damaged.deadLetters).toMatchObject([{ index: 1, indexes: [1, 2], events: 0 }]);
  });
});

describe('splitting a batch into chunks', () => {
  it('never splits a batch: a chunk that is held back begins with a record of Kafka', () => {
    const batch = chunkOf([three, sampleBatch([three, three, three]), three]);
    const chunks = splitIntoChunks(batch, 4);
    expect(chunks.map(({ records }) => records.map(({ source }) => source.offset))).toEqual([
      ...[[100], [101, 101, 101], [102]],
    ]);
    expect(chunks.map(({ claims }) => claims.length)).toEqual([3, 9, 3]);
  });

  it('splits between records and keeps the order', () => {
    const batch = chunkOf([
      three,
      Buffer.from('poison'),
      three,
      sampleRecord([sampleEvent('d')]),
      three,
    ]);
    const chunks = splitIntoChunks(batch, 4);
    expect(chunks.map(({ records: records }) => records.length)).toEqual([2, 2, 1]);
    expect(chunks.map(({ claims: claims }) => claims.length)).toEqual([3, 4, 3]);
    expect(chunks.flatMap(({ records: records }) => records)).toEqual(batch.records);
    expect(chunks.flatMap(({ claims: claims }) => claims)).toEqual(batch.claims);
    expect(splitIntoChunks(chunkOf([]), 4)).toEqual([]);
    expect(splitIntoChunks(chunkOf([three]), 1)).toHaveLength(1);
  });
});
