import pino from 'pino';
import { expect, it } from 'vitest';
import { retryUntilAborted } from './retry-until-aborted.ts';

class Conflict extends Error {}

const options = {
  log: pino({ level: 'silent' }),
  signal: new AbortController().signal,
  code: 'server_unreachable',
  what: 'asking the server',
  isFinal: (error: unknown) => error instanceof Conflict,
};

it('an unavailable server is retried until it answers', async () => {
  let attempts = 0;
  const task = () =>
    ++attempts < 4 ? Promise.reject(new Error('connection refused')) : Promise.resolve('answer');
  expect(await retryUntilAborted(options, task)).toBe('answer');
  expect(attempts).toBe(4);
});

it('a defect of the program and a final error are thrown at once', async () => {
  for (const error of [new TypeError('x is undefined'), new Conflict('another process')]) {
    let attempts = 0;
    await expect(
      retryUntilAborted(options, () => (attempts++, Promise.reject(error))),
    ).rejects.toBe(error);
    expect(attempts).toBe(1);
  }
});

it('the retries end with the signal', async () => {
  const stop = new AbortController();
  const retried = retryUntilAborted({ ...options, signal: stop.signal }, () =>
    Promise.reject(new Error('unavailable')),
  );
  stop.abort(new Error('partition revoked'));
  await expect(retried).rejects.toThrow('partition revoked');
});
