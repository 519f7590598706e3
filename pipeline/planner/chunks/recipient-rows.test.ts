import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ChunkRecipient } from '../../../schemas/records.ts';
import { RecipientRows } from './recipient-rows.ts';

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 0x80; left >>= 7) length.push((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...length, left]), bytes]);
}

const rowBinary = (rows: readonly ChunkRecipient[]) =>
  Buffer.concat(
    rows.flatMap(({ key, person_id, user_id, is_control }) => [
      ...[text(key), text(person_id), text(user_id), Buffer.from([is_control ? 1 : 0])],
    ]),
  );

const name = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constant('شناسه'.repeat(40)),
);
const recipient = fc.record({
  key: name,
  person_id: name,
  user_id: name,
  is_control: fc.boolean(),
});

it('rows are read whole however the bytes are cut into pieces', () => {
  fc.assert(
    fc.property(fc.array(recipient), fc.array(fc.nat({ max: 300 })), (rows, lengths) => {
      const bytes = rowBinary(rows);
      const reader = new RecipientRows();
      const read: ChunkRecipient[] = [];
      let at = 0;
      for (const length of lengths) {
        read.push(...reader.read(bytes.subarray(at, at + length)));
        at += length;
      }
      read.push(...reader.read(bytes.subarray(at)));
      reader.end();
      expect(read).toEqual(rows);
    }),
  );
});

it('an answer that ends inside a row is refused', () => {
  const bytes = rowBinary([{ key: 'k', person_id: 'p', user_id: 'u', is_control: false }]);
  for (let length = 1; length < bytes.length; length++) {
    const reader = new RecipientRows();
    expect(reader.read(bytes.subarray(0, length))).toEqual([]);
    expect(() => reader.end()).toThrow('into a row');
  }
});
