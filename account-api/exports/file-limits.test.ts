import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { ExportImpossible, limitedFile } from './file-limits.ts';
import { RowCounter } from './row-counter.ts';

const MIB = 2 ** 20;

function limited(source: Readable, limits: { stored?: number; max?: number; free?: number[] }) {
  const { stored = 0, max = 10 * MIB, free = [Infinity] } = limits;
  const counter = new RowCounter('ndjson');
  const files = { freeBytes: () => Promise.resolve(free.shift() ?? 0) };
  const sizes = { maxAccountBytes: max, minFreeBytes: MIB, storedBytes: stored };
  return { counter, content: limitedFile(source, { ...sizes, counter, files }) };
}

it('a file passes unchanged while it and the other files of its account fit', async () => {
  const { counter, content } = limited(Readable.from([Buffer.from('a\nb'), Buffer.from('\n')]), {
    stored: 6,
    max: 10,
  });
  expect(await text(content)).toBe('a\nb\n');
  expect([counter.rows, counter.bytes]).toEqual([2, 4]);
});

it('a file that exceeds the bytes of its account fails for good, and its source is closed', async () => {
  const source = Readable.from([Buffer.from('abc'), Buffer.from('d')]);
  const { content } = limited(source, { stored: 7, max: 10 });
  await expect(text(content)).rejects.toThrow(ExportImpossible);
  expect(source.destroyed).toBe(true);
});

it('a file fails when the folder runs out of space, also in the middle', async () => {
  const chunks = () => Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(MIB)));
  const max = 100 * MIB;
  await expect(text(limited(chunks(), { max, free: [16 * MIB] }).content)).rejects.toThrow(
    'the folder of export files has 16777216 bytes left',
  );
  const second = limited(chunks(), { max, free: [100 * MIB, 5 * MIB] });
  await expect(text(second.content)).rejects.toThrow('has 5242880 bytes left');
  expect(second.counter.bytes).toBe(16 * MIB);
});

it('a source that fails or ends early fails the file', async () => {
  const broken = new Readable({
    read() {
      this.destroy(new Error('cut'));
    },
  });
  await expect(text(limited(broken, {}).content)).rejects.toThrow('cut');
  const closed = new Readable({
    read() {
      this.destroy();
    },
  });
  await expect(text(limited(closed, {}).content)).rejects.toThrow('Premature close');
});

it('a source that fails before it is read fails the file, not the process', async () => {
  const source = new Readable({ read: () => undefined });
  const { content } = limited(source, {});
  source.destroy(new Error('cut'));
  await new Promise(setImmediate);
  await expect(text(content)).rejects.toThrow('cut');
});
