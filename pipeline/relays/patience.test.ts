import pino from 'pino';
import { expect, test } from 'vitest';
import { patiently } from './patience.ts';
import { PositionMoved } from './store.ts';

const log = pino({ level: 'silent' });

test('an absence is waited out, whatever it takes', async () => {
  let turns = 0;
  const { signal } = new AbortController();
  const work = () =>
    ++turns < 4 ? Promise.reject(new Error('connection refused')) : Promise.resolve('there');
  expect(await patiently({ log, signal, what: 'asking' }, work)).toBe('there');
  expect(turns).toBe(4);
});

test('a defect and a position that moved are not', async () => {
  const { signal } = new AbortController();
  for (const error of [new TypeError('x is undefined'), new PositionMoved('another process')]) {
    let turns = 0;
    await expect(
      patiently({ log, signal, what: 'asking' }, () => (turns++, Promise.reject(error))),
    ).rejects.toBe(error);
    expect(turns).toBe(1);
  }
});

test('the wait ends with its signal', async () => {
  const stop = new AbortController();
  const waiting = patiently({ log, signal: stop.signal, what: 'asking' }, () =>
    Promise.reject(new Error('away')),
  );
  stop.abort(new Error('taken away'));
  await expect(waiting).rejects.toThrow('taken away');
});
