import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { InboxSecrets } from './inbox-secrets.ts';

const APP = { accountId: 1, appId: 7 };
let stored: string[];
let reads: number;

const secrets = () =>
  new InboxSecrets({
    store: {
      secrets: (appIds) => {
        reads++;
        const sealed = stored.map((text) => Buffer.from(text));
        return Promise.resolve(new Map(appIds.map((appId) => [appId, { accountId: 1, sealed }])));
      },
    },
    sealer: { open: (sealed) => Buffer.from(sealed).toString() },
    now: Date.now,
  });
const signedBy = (secret: string) => (live: readonly string[]) => live.includes(secret);

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  stored = ['first'];
  reads = 0;
});
afterEach(() => vi.useRealTimers());

describe('a credential of the inbox', () => {
  it('is compared with the secrets in memory for five seconds', async () => {
    const app = secrets();
    expect(await app.isSigned(APP, signedBy('first'))).toBe(true);
    await vi.advanceTimersByTimeAsync(4000);
    expect(await app.isSigned(APP, signedBy('first'))).toBe(true);
    expect(reads).toBe(1);
    stored = ['second'];
    await vi.advanceTimersByTimeAsync(1100);
    expect(await app.isSigned(APP, signedBy('first'))).toBe(false);
  });

  it('passes under a secret that was made a moment ago', async () => {
    const app = secrets();
    expect(await app.isSigned(APP, signedBy('first'))).toBe(true);
    stored = ['second', 'first'];
    const signed = app.isSigned(APP, signedBy('second'));
    await vi.advanceTimersByTimeAsync(600);
    expect(await signed).toBe(true);
    expect(reads).toBe(2);
  });

  it('that is wrong costs two reads a second at most, whoever else sends wrong ones', async () => {
    const app = secrets();
    await app.isSigned(APP, signedBy('first'));
    const answers: boolean[] = [];
    for (let at = 0; at < 100; at++) {
      void app.isSigned(APP, signedBy('wrong')).then((is) => answers.push(is));
      await vi.advanceTimersByTimeAsync(20);
    }
    expect(reads).toBeLessThanOrEqual(5);
    await vi.advanceTimersByTimeAsync(1000);
    expect(answers).toEqual(Array.from({ length: 100 }, () => false));
  });

  it('is refused at once when many wrong ones wait', async () => {
    const app = secrets();
    await app.isSigned(APP, signedBy('first'));
    let refused = 0;
    for (let at = 0; at < 100; at++)
      void app.isSigned(APP, signedBy('wrong')).then((is) => (refused += Number(!is)));
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toBe(36);
    expect(await app.isSigned(APP, signedBy('first'))).toBe(true);
    await vi.advanceTimersByTimeAsync(600);
    expect(refused).toBe(100);
    expect(reads).toBe(2);
  });
});
