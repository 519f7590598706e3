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
  /** One hash at a time; `finish` ends the one that runs. */
  function oneAtATime(limits: {
    maxWaiting: number;
    maxWaitingPerNetwork: number;
    random?: () => number;
  }) {
    const queue = new HashQueue({ concurrency: 1, random: () => 0, ...limits });
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const work = (network: string) =>
      queue.run(
        network,
        () =>
          new Promise<string>(
            (resolve) => (started.push(network), ends.push(() => resolve(network))),
          ),
      );
    const finish = async () => {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { work, started, finish };
  }

  it('limits the concurrent hashes and those of a network that wait, and refuses the rest', async () => {
    const { work, started, finish } = oneAtATime({ maxWaiting: 9, maxWaitingPerNetwork: 2 });
    const first = [work('a'), work('a'), work('a')];
    await expect(work('a')).rejects.toThrow(TooBusy);
    expect(started).toEqual(['a']);
    for (let time = 0; time < 3; time++) await finish();
    expect(await Promise.all(first)).toEqual(['a', 'a', 'a']);
  });

  it('gives the networks turns, so a flood from one costs another one turn', async () => {
    const { work, started, finish } = oneAtATime({ maxWaiting: 9, maxWaitingPerNetwork: 8 });
    const all = [work('flood'), work('flood'), work('flood'), work('flood'), work('owner')];
    for (let time = 0; time < 5; time++) await finish();
    await Promise.all(all);
    expect(started).toEqual(['flood', 'flood', 'owner', 'flood', 'flood']);
  });

  it('refuses a hash of the network that waits with most when another one finds it full', async () => {
    const { work, started, finish } = oneAtATime({ maxWaiting: 3, maxWaitingPerNetwork: 3 });
    const flood = [work('flood'), work('flood'), work('flood'), work('flood')].map((one) =>
      one.catch((error: unknown) => error),
    );
    const owner = work('owner');
    expect(await flood[3]).toBeInstanceOf(TooBusy);
    for (let time = 0; time < 4; time++) await finish();
    expect(await owner).toBe('owner');
    expect(started).toEqual(['flood', 'flood', 'owner', 'flood']);
  });

  it('refuses one by chance, the new one included, when all networks wait with as many', async () => {
    let chance = 0;
    const limits = { maxWaiting: 2, maxWaitingPerNetwork: 3, random: () => chance };
    const { work, started, finish } = oneAtATime(limits);
    const [a, b, c] = ['a', 'b', 'c'].map((network) => work(network).catch(() => 'refused'));
    const d = work('d');
    chance = 0.99;
    await expect(work('e')).rejects.toThrow(TooBusy);
    for (let time = 0; time < 3; time++) await finish();
    expect(await Promise.all([a, b, c, d])).toEqual(['a', 'refused', 'c', 'd']);
    expect(started).toEqual(['a', 'c', 'd']);
  });

  it('continues after a failure', async () => {
    const queue = new HashQueue({
      ...{ concurrency: 1, maxWaiting: 1, maxWaitingPerNetwork: 1, random: () => 0 },
    });
    const failing = queue.run('a', () => Promise.reject(new Error('broken')));
    const next = queue.run('a', () => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('done');
    expect(await queue.run('a', () => Promise.resolve('again'))).toBe('again');
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
