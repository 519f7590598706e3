import { expect, it } from 'vitest';
import { decodeObject, encodeObject, type ArchivedRecord } from './object-format.ts';

const records: ArchivedRecord[] = Array.from({ length: 3000 }, (_, at) => ({
  ...{ offset: 2 ** 40 + at, timestamp: 1_790_000_000_000 + at },
  key: at % 3 === 0 ? null : Buffer.from(`key ${at}`),
  value: at === 7 ? null : Buffer.alloc(at, at),
}));

it('an object holds its records byte for byte, in Avro', async () => {
  const bytes = await encodeObject(records);
  expect(bytes.subarray(0, 4).toString('latin1')).toBe('Obj\x01');
  expect(bytes.length).toBeLessThan(200_000);
  expect(await decodeObject(bytes)).toEqual(records);
});

it('an object that is cut or damaged is refused', async () => {
  const bytes = await encodeObject(records);
  const damaged = Buffer.from(bytes);
  damaged.writeUInt32BE(0xdeadbeef, bytes.length >> 1);
  await expect(decodeObject(damaged)).rejects.toThrow();
  const cut = await decodeObject(bytes.subarray(0, bytes.length >> 1)).catch(() => []);
  expect(cut.length).toBeLessThan(records.length);
});
