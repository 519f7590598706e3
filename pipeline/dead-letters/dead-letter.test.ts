import { TOPIC } from '../../schemas/topology.ts';
import { describe, expect, it } from 'vitest';
import { allSchemas, deadLetterCodec, singleObjectHeader } from '../../schemas/codec.ts';
import { deadLetterKey, deadLetterOf, MAX_DEAD_LETTER_VALUE_BYTES } from './dead-letter.ts';
import { type Failure } from '../../events/raw/failure.ts';
import { deadLetterRecord } from './dead-letter.ts';

const record = {
  topic: 'events.raw',
  partition: 5,
  offset: 70,
  timestamp: 1000,
  key: Buffer.from('k'),
  value: Buffer.from('bytes'),
};
const failure: Failure = {
  reason: 'item_missing',
  detail: 'the body holds no event at position 3',
  index: 3,
  events: 1,
  accountId: 9,
  messageId: 'm',
};
const to = { topic: TOPIC.dead, partitions: 3 };
const deadLetter = (changes: Partial<Failure> = {}, of: Partial<typeof record> = {}) =>
  deadLetterOf({
    stage: 'normalise',
    failure: { ...failure, ...changes },
    record: { ...record, ...of },
    failedAt: 2000,
  });

describe('a dead letter', () => {
  it('contains the reason, the position and the bytes of the failed record', () => {
    const back = deadLetterCodec.decode(deadLetterRecord(deadLetter(), to).value);
    expect(back).toMatchObject({
      reason: 'item_missing',
      topic: 'events.raw',
      partition: 5,
      offset: 70,
      index: 3,
      failed_at: 2000,
      appended_at: 1000,
      message_id: 'm',
    });
    expect(back.value).toEqual(record.value);
    expect(back.key).toEqual(record.key);
  });

  it('has the same fingerprint for the same cause, whatever the record', () => {
    expect(deadLetter().fingerprint).toBe(
      deadLetter({ detail: 'the body holds no event at position 44', index: 1 }, { offset: 71 })
        .fingerprint,
    );
    expect(deadLetter().fingerprint).not.toBe(
      deadLetter({ reason: 'not_normalisable' }).fingerprint,
    );
    expect(deadLetter({ detail: 'invalid "x"' }).fingerprint).toBe(
      deadLetter({ detail: 'invalid "yz"' }).fingerprint,
    );
  });

  it('of one item is written as earlier releases read it, and one of several lists them', () => {
    const headerOf = (version: number) =>
      singleObjectHeader(
        allSchemas().find(({ id }) => id === `dead-letter.v${version}`)?.type as never,
      );
    const one = deadLetterRecord(deadLetter(), to).value;
    expect(one.subarray(0, 10)).toEqual(headerOf(1));
    expect(deadLetterCodec.decode(one)).toMatchObject({ index: 3, indexes: [] });
    const several = deadLetterRecord(deadLetter({ index: 3, indexes: [3, 9], events: 2 }), to);
    expect(several.value.subarray(0, 10)).toEqual(headerOf(2));
    expect(deadLetterCodec.decode(several.value)).toMatchObject({
      index: 3,
      indexes: [3, 9],
      events: 2,
    });
  });

  it('truncates a record of the maximum size, and says so in its detail', () => {
    const large = deadLetter({}, { value: Buffer.alloc(16 * 1024 * 1024, 'x') });
    expect(large.value.length).toBe(MAX_DEAD_LETTER_VALUE_BYTES);
    expect(large.detail).toContain('only the first');
    expect(deadLetterRecord(large, to).value.length).toBeLessThan(16 * 1024 * 1024);
  });

  it('has one key per position, and goes to the partition of its source partition', () => {
    expect(deadLetterKey(deadLetter())).toBe('events.raw/5/70/3');
    expect(deadLetterKey(deadLetter({ index: null }))).toBe('events.raw/5/70/record');
    expect(deadLetterKey(deadLetter({ index: 3, indexes: [3, 7, 9], events: 3 }))).toBe(
      'events.raw/5/70/3+2',
    );
    expect(deadLetterRecord(deadLetter(), to)).toMatchObject({
      topic: 'events.dead',
      partition: 2,
      key: 'events.raw/5/70/3',
    });
  });
});
