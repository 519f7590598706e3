import { describe, expect, it } from 'vitest';
import type { ClaimResolution } from '../../events/claims/resolution.ts';
import { ContextReader } from '../../events/normalise.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import { rowBatchCodec, rawRecordCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { claimsToResolve } from '../../events/raw/record-claims.ts';
import {
  normaliseChunk,
  splitIntoChunks,
  type NormalisedChunk,
  type Chunk,
} from './normalise-chunk.ts';
import { decodeRecord } from '../../events/raw/decode-record.ts';
import { RowBatchBuilder } from './row-batch-builder.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../../events/testing/raw-records.ts';

const position = { epoch: 0, partition: 0, offset: 1, index: 0 };
const FIRST: ClaimResolution = { verdict: 'first' };
const now = 1_790_000_100_000;

function partOf(records: (RawRecord | Buffer)[], settlements?: ClaimResolution[]): Chunk {
  const readings = records.map((record, at) =>
    decodeRecord(sampleMessage(record, { partition: 2, offset: 100 + at })),
  );
  const entries = claimsToResolve(readings, 0);
  return {
    records: readings,
    claims: entries,
    resolutions: settlements ?? entries.map(() => FIRST),
  };
}

function composed(part: Chunk): NormalisedChunk {
  return normaliseChunk(part, {
    runs: new RowBatchBuilder({ rows: 1000, bytes: 100_000, rowBytes: 100_000 }),
    contexts: new ContextReader(new UserAgentCache(10)),
    now,
  });
}

const rowsOf = ({ rowBatches: runs }: NormalisedChunk) =>
  runs.flatMap(({ value }) => rowBatchCodec.decode(value).rows);
const three = sampleRecord([sampleEvent('a'), sampleEvent('b'), sampleEvent('c')]);

describe('compose', () => {
  it('given accepted events, publishes their rows at their places', () => {
    const part = composed(partOf([three]));
    expect(rowsOf(part)).toMatchObject(
      ['a', 'b', 'c'].map((message_id, _index) => ({
        message_id,
        _partition: 2,
        _offset: 100,
        _index,
        locale: 'fa-IR',
      })),
    );
    expect(part).toMatchObject({
      letters: [],
      verdicts: [],
      tally: { published: 3, dead: 0 },
      taken: 3,
      dead: 0,
    });
  });

  it('given replays, publishes them again; given repeats and duplicates, tells only the books', () => {
    const part = composed(
      partOf(
        [three],
        [
          { verdict: 'replay' },
          { verdict: 'repeat', position },
          { verdict: 'duplicate', position },
        ],
      ),
    );
    expect(rowsOf(part).map(({ message_id }) => message_id)).toEqual(['a']);
    expect(part.verdicts).toEqual([
      { offset: 100, index: 1, account_id: 1, received_at: three.received_at, verdict: 'repeat' },
      {
        offset: 100,
        index: 2,
        account_id: 1,
        received_at: three.received_at,
        verdict: 'duplicate',
      },
    ]);
    expect(part).toMatchObject({
      letters: [],
      tally: { published: 0, replayed: 1, repeat: 1, duplicate: 1 },
      taken: 3,
      dead: 0,
    });
  });

  it('given an event older than what is kept, publishes it and tells the books that it is no row', () => {
    const old = {
      ...three,
      items: three.items.map((item, at) => ({ ...item, timestamp: now - 400 * 86_400_000 + at })),
    };
    const part = composed(partOf([old]));
    expect(rowsOf(part).length).toBe(3);
    expect(part.verdicts).toMatchObject([{ index: 0, verdict: 'expired' }]);
  });

  it('given an item that the body does not hold, writes a letter about it with the whole record', () => {
    const broken = {
      ...three,
      items: three.items.map((item) => (item.at === 1 ? { ...item, at: 9 } : item)),
    };
    const part = composed(partOf([broken]));
    expect(rowsOf(part).map(({ message_id }) => message_id)).toEqual(['a', 'c']);
    expect(part.deadLetters).toMatchObject([
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
    expect(part.deadLetters[0]?.value).toEqual(rawRecordCodec.encode(broken));
    expect(part.verdicts).toMatchObject([{ offset: 100, index: 1, verdict: 'dead' }]);
    expect(part).toMatchObject({ tally: { published: 2, dead: 1 }, taken: 3, dead: 1 });
  });

  it('given an event that cannot be encoded, buries it and publishes its neighbours', () => {
    const broken = {
      ...three,
      items: three.items.map((item) => (item.at === 1 ? { ...item, timestamp: 0.5 } : item)),
    };
    const good = partOf([three]);
    const part = composed({
      ...good,
      records: good.records.map((reading) =>
        reading.state === 'read' ? { ...reading, record: broken } : reading,
      ),
    });
    expect(rowsOf(part).map(({ message_id }) => message_id)).toEqual(['a', 'c']);
    expect(part.deadLetters).toMatchObject([{ reason: 'not_normalisable', index: 1 }]);
  });

  it('given a record of which nothing can be taken, writes one letter for all of it', () => {
    const part = composed(
      partOf([{ ...three, items: three.items.map((item) => ({ ...item, at: item.at + 9 })) }]),
    );
    expect(part.deadLetters).toMatchObject([
      { reason: 'item_missing', index: null, events: 3, message_id: '' },
    ]);
    expect(part.verdicts.map(({ index, verdict }) => [index, verdict])).toEqual(
      [0, 1, 2].map((index) => [index, 'dead']),
    );
  });

  it('given records that cannot be read between good ones, moves on', () => {
    const part = composed(
      partOf([
        three,
        Buffer.from('poison'),
        { ...three, body: Buffer.from('{') },
        sampleRecord([sampleEvent('d')]),
      ]),
    );
    expect(rowsOf(part).map(({ message_id, _offset }) => [message_id, _offset])).toEqual([
      ['a', 100],
      ['b', 100],
      ['c', 100],
      ['d', 103],
    ]);
    expect(part.deadLetters).toMatchObject([
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
    expect(part.verdicts.map(({ offset, index }) => [offset, index])).toEqual([
      [102, 0],
      [102, 1],
      [102, 2],
    ]);
    expect(part).toMatchObject({ tally: { published: 4, dead: 3 }, taken: 8, dead: 4 });
  });
});

describe('cutIntoParts', () => {
  it('cuts between records and keeps everything in order', () => {
    const batch = partOf([
      three,
      Buffer.from('poison'),
      three,
      sampleRecord([sampleEvent('d')]),
      three,
    ]);
    const parts = splitIntoChunks(batch, 4);
    expect(parts.map(({ records: readings }) => readings.length)).toEqual([2, 2, 1]);
    expect(parts.map(({ claims: entries }) => entries.length)).toEqual([3, 4, 3]);
    expect(parts.flatMap(({ records: readings }) => readings)).toEqual(batch.records);
    expect(parts.flatMap(({ claims: entries }) => entries)).toEqual(batch.claims);
    expect(splitIntoChunks(partOf([]), 4)).toEqual([]);
    expect(splitIntoChunks(partOf([three]), 1)).toHaveLength(1);
  });
});
