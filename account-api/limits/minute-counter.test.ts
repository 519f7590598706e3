import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { minuteCounters } from './minute-counter.ts';

/** Answers as the script does; keeps what was added. */
function counters() {
  const values = new Map<string, number>();
  const commands: [key: string, units: number][] = [];
  const evaluate = (_script: string, _keys: number, key: string, units: number) => {
    commands.push([key, units]);
    const value = (values.get(key) ?? 0) + units;
    values.set(key, value);
    return Promise.resolve(value);
  };
  const redis = { eval: evaluate as unknown as Redis['eval'] };
  return { count: minuteCounters(redis), commands };
}

describe('counters of a minute', () => {
  it('count concurrent requests in one command, each in its turn', async () => {
    const { count, commands } = counters();
    expect(await count('a', 5)).toBe(5);
    const counted = [count('a', 1), count('b', 2), count('a', 25), count('a', 1)];
    expect(await Promise.all(counted)).toEqual([6, 2, 31, 32]);
    expect(commands).toEqual([
      ['a', 5],
      ['a', 27],
      ['b', 2],
    ]);
  });

  it('reject every request whose counter cannot be reached', async () => {
    const redis = { eval: () => Promise.reject(new Error('down')) };
    const count = minuteCounters(redis);
    const counted = await Promise.allSettled([count('a', 1), count('b', 1)]);
    expect(counted.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
