import { describe, expect, it } from 'vitest';
import { readEmail } from './email.ts';
import { HashQueue, TooBusy } from './hash-queue.ts';
import { generatePassword, hashPassword, verifyPassword } from './password.ts';

describe('a password', () => {
  it('verifies against a PHC string of the reference implementation', async () => {
    const phc =
      '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    expect(await verifyPassword('password', phc)).toBe(true);
    expect(await verifyPassword('passwore', phc)).toBe(false);
  });

  it('is hashed with its own salt, and the hash contains its cost', async () => {
    const [one, other] = await Promise.all([
      hashPassword('correct horse'),
      hashPassword('correct horse'),
    ]);
    expect(one).toMatch(
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    );
    expect(one).not.toBe(other);
    expect(await verifyPassword('correct horse', other)).toBe(true);
  });

  it('cannot be verified against a hash of another kind', async () => {
    await expect(verifyPassword('x', '$2b$10$abcdefghijklmnopqrstuv')).rejects.toThrow('PHC');
  });

  it('is generated with 24 characters without look-alikes', () => {
    const passwords = new Set(Array.from({ length: 50 }, generatePassword));
    expect(passwords.size).toBe(50);
    for (const password of passwords) expect(password).toMatch(/^[A-HJ-NP-Za-km-z2-9]{24}$/);
  });
});

describe('the hash queue', () => {
  it('limits concurrent and waiting hashes and refuses the rest', async () => {
    const queue = new HashQueue({ concurrency: 2, maxWaiting: 1 });
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const work = (n: number) =>
      queue.run(
        () => new Promise<number>((resolve) => (started.push(n), ends.push(() => resolve(n)))),
      );
    const [first, second, third] = [work(1), work(2), work(3)];
    await expect(work(4)).rejects.toThrow(TooBusy);
    expect(started).toEqual([1, 2]);
    ends[0]?.();
    expect(await first).toBe(1);
    expect(started).toEqual([1, 2, 3]);
    ends[1]?.();
    ends[2]?.();
    expect(await Promise.all([second, third])).toEqual([2, 3]);
  });

  it('continues after a failure', async () => {
    const queue = new HashQueue({ concurrency: 1, maxWaiting: 1 });
    const failing = queue.run(() => Promise.reject(new Error('broken')));
    const next = queue.run(() => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('done');
    expect(await queue.run(() => Promise.resolve('again'))).toBe('again');
  });
});

describe('readEmail', () => {
  it.each([
    [' Ali@Shop.Example ', 'ali@shop.example'],
    ['a@b', 'a@b'],
    ['علی@مثال.ایران', 'علی@مثال.ایران'],
  ])('normalises %s to %s', (text, email) => expect(readEmail(text)).toBe(email));
  it.each(['', 'a', '@b', 'a@', 'a b@c', 'a@b@c', `${'a'.repeat(320)}@b`, 'a\u0000@b', '\ud800@b'])(
    'refuses %o',
    (text) => expect(readEmail(text)).toBeUndefined(),
  );
});
