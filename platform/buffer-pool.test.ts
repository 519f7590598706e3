import { expect, it } from 'vitest';
import { BufferPool } from './buffer-pool.ts';

const KIB = 1024;
const given = (maxFreeBytes = 64 * KIB) => new BufferPool({ maxFreeBytes, fill: 0xff });

it('a buffer that was given back is used again, for whatever fits into its memory', () => {
  const pool = given();
  const first = pool.take(9000);
  pool.release(first);
  const second = pool.take(9100);

  expect(second.buffer).toBe(first.buffer);
  expect([first.length, second.length]).toEqual([9000, 9100]);
  expect(second.every((byte) => byte === 0xff)).toBe(true);
  expect(pool.freeBytes).toBe(0);
});

it('a buffer that was not given back is used by nobody else', () => {
  const pool = given();
  const lent = Array.from({ length: 20 }, () => pool.take(9000));
  expect(new Set(lent.map(({ buffer }) => buffer)).size).toBe(20);
});

it('a buffer that is given back twice, or is of somebody else, changes nothing', () => {
  const pool = given();
  const lent = pool.take(9000);
  pool.release(lent);
  pool.release(lent);
  const foreign = Buffer.alloc(9000);
  pool.release(foreign);

  expect(pool.take(9000).buffer).not.toBe(pool.take(9000).buffer);
  expect(foreign.every((byte) => byte === 0)).toBe(true);
});

it('an old view does not give back the buffer that uses its memory now', () => {
  const pool = given();
  const first = pool.take(9000);
  pool.release(first);
  const second = pool.take(9000).fill(1);
  pool.release(first);
  pool.release(second.subarray(1));

  expect(second.every((byte) => byte === 1)).toBe(true);
  expect(pool.take(9000).buffer).not.toBe(second.buffer);
});

it('short and long buffers are not kept', () => {
  const pool = given(10 * KIB * KIB);
  for (const bytes of [0, 1, 4095, 256 * KIB + 1]) {
    const lent = pool.take(bytes);
    expect(lent.length).toBe(bytes);
    pool.release(lent);
  }
  expect(pool.freeBytes).toBe(0);
});

it('free buffers take no more memory than they may, whatever their sizes', () => {
  const pool = given();
  let seed = 1;
  for (let round = 0; round < 200; round++) {
    const lent = Array.from({ length: 8 }, () => {
      seed = (seed * 48271) % 2147483647;
      return pool.take(4096 + (seed % 30_000));
    });
    for (const one of lent) {
      pool.release(one);
      expect(pool.freeBytes).toBeLessThanOrEqual(64 * KIB);
    }
  }
});

it('at most an eighth of the memory of a buffer is unused', () => {
  const pool = given();
  for (let bytes = 4096; bytes <= 256 * KIB; bytes += 97)
    expect(pool.take(bytes).buffer.byteLength).toBeLessThanOrEqual(bytes * 1.125);
});
