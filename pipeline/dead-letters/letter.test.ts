import { describe, expect, it } from 'vitest';
import { deadLetterCodec } from '../../schemas/codec.ts';
import { letterKey, letterOf, MAX_LETTER_VALUE_BYTES, type Failure } from './letter.ts';
import { DEAD_LETTER_TOPIC, letterRecord } from './writer.ts';

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
const to = { topic: DEAD_LETTER_TOPIC, partitions: 3 };
const letter = (changes: Partial<Failure> = {}, of: Partial<typeof record> = {}) =>
  letterOf({
    stage: 'normalise',
    failure: { ...failure, ...changes },
    record: { ...record, ...of },
    failedAt: 2000,
  });

describe('a dead letter', () => {
  it('tells the reason, the position and the bytes, and survives its codec', () => {
    const back = deadLetterCodec.decode(letterRecord(letter(), to).value);
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

  it('has the fingerprint of its cause, whatever the record', () => {
    expect(letter().fingerprint).toBe(
      letter({ detail: 'the body holds no event at position 44', index: 1 }, { offset: 71 })
        .fingerprint,
    );
    expect(letter().fingerprint).not.toBe(letter({ reason: 'not_normalisable' }).fingerprint);
    expect(letter({ detail: 'invalid "x"' }).fingerprint).toBe(
      letter({ detail: 'invalid "yz"' }).fingerprint,
    );
  });

  it('of a record as large as the log takes still fits into the log, and says that it is cut', () => {
    const large = letter({}, { value: Buffer.alloc(16 * 1024 * 1024, 'x') });
    expect(large.value.length).toBe(MAX_LETTER_VALUE_BYTES);
    expect(large.detail).toContain('only the first');
    expect(letterRecord(large, to).value.length).toBeLessThan(16 * 1024 * 1024);
  });

  it('has one key a position, and goes to one partition a partition', () => {
    expect(letterKey(letter())).toBe('events.raw/5/70/3');
    expect(letterKey(letter({ index: null }))).toBe('events.raw/5/70/record');
    expect(letterRecord(letter(), to)).toMatchObject({
      topic: 'events.dead',
      partition: 2,
      key: 'events.raw/5/70/3',
    });
  });
});
