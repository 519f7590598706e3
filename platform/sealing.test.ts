import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { makeSealingKey, parseSealingKeys, SealError, type Sealer } from './sealing.ts';

const KEY_A = Buffer.alloc(32, 1).toString('base64');
const KEY_B = Buffer.alloc(32, 2).toString('base64');

function sealer(text: string): Sealer {
  const made = parseSealingKeys(text, (size) => Buffer.alloc(size, 7));
  if (!made) throw new Error('no key');
  return made;
}

describe('parseSealingKeys', () => {
  it('returns no key for an empty text', () => expect(parseSealingKeys('  ')).toBeUndefined());

  it.each([
    ['no id', KEY_A],
    ['an empty id', `:${KEY_A}`],
    ['a short key', `a:${Buffer.alloc(31).toString('base64')}`],
    ['a long key', `a:${Buffer.alloc(33).toString('base64')}`],
    ['not base64', 'a:???'],
    ['an id with a space', `a b:${KEY_A}`],
    ['an id given twice', `a:${KEY_A},a:${KEY_B}`],
    ['a comma at the end', `a:${KEY_A},`],
    ['an id that is too long', `${'x'.repeat(65)}:${KEY_A}`],
  ])('refuses %s without repeating it', (_, text) => {
    expect(() => parseSealingKeys(text)).toThrow(/^id:KEY, or several/);
  });

  it('parses a key of makeSealingKey', () => {
    const made = parseSealingKeys(makeSealingKey('local-1'));
    expect(made?.open(made.seal('secret', 'p'), 'p')).toBe('secret');
  });
});

describe('a sealer', () => {
  it('writes the documented layout', () => {
    const sealed = sealer(`k1:${KEY_A}`).seal('abc', 'p');
    expect(sealed.subarray(0, 4)).toEqual(Buffer.from('\x01\x02k1'));
    expect(sealed.subarray(4, 16)).toEqual(Buffer.alloc(12, 7));
    expect(sealed).toHaveLength(4 + 12 + 3 + 16);
  });

  it('opens what it sealed, whatever the text', () => {
    const one = sealer(`k1:${KEY_A}`);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (plain, purpose) => {
        expect(one.open(one.seal(plain, purpose), purpose)).toBe(plain.toWellFormed());
      }),
    );
  });

  it('opens for the same purpose only', () => {
    const one = sealer(`k1:${KEY_A}`);
    expect(() => one.open(one.seal('s', 'relay:1:2'), 'relay:1:3')).toThrow(
      expect.objectContaining({ code: 'wrong_seal' }),
    );
  });

  it('rejects bytes that were changed anywhere', () => {
    const one = sealer(`k1:${KEY_A}`);
    const sealed = one.seal('secret', 'p');
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => one.open(changed, 'p'), `byte ${at}`).toThrow(SealError);
      expect(() => one.open(sealed.subarray(0, at), 'p'), `cut at ${at}`).toThrow(SealError);
    }
  });

  it('seals under the first key and opens under every key, so that keys can be rotated', () => {
    const before = sealer(`k1:${KEY_A}`);
    const during = sealer(`k2:${KEY_B},k1:${KEY_A}`);
    const after = sealer(`k2:${KEY_B}`);
    const old = before.seal('s', 'p');
    expect(during.open(old, 'p')).toBe('s');
    expect(during.isCurrent(old)).toBe(false);
    const anew = during.seal('s', 'p');
    expect(during.isCurrent(anew)).toBe(true);
    expect(after.open(anew, 'p')).toBe('s');
    expect(() => after.open(old, 'p')).toThrow(expect.objectContaining({ code: 'unknown_key' }));
  });

  it('distinguishes a missing key from one with the same id and another value', () => {
    expect(() => sealer(`k1:${KEY_B}`).open(sealer(`k1:${KEY_A}`).seal('s', 'p'), 'p')).toThrow(
      expect.objectContaining({ code: 'wrong_seal' }),
    );
  });
});

describe('a rotation over several processes', () => {
  const [OLD, NEW] = [`old:${KEY_A}`, `new:${KEY_B}`];
  /** Whether what any process seals opens in any other while they are restarted one by one. */
  const opensEverywhere = (before: string, after: string) =>
    [before, after].every((sealing) => {
      const sealed = sealer(sealing).seal('secret', 'p');
      return [before, after].every((opening) => {
        try {
          return sealer(opening).open(sealed, 'p') === 'secret';
        } catch {
          return false;
        }
      });
    });

  it('in the order of docs/webhooks.md opens every secret in every process at every step', () => {
    const steps = [OLD, `${OLD},${NEW}`, `${NEW},${OLD}`];
    for (const [at, step] of steps.slice(1).entries())
      expect(opensEverywhere(steps[at] ?? '', step), step).toBe(true);
  });

  it('that puts the new key first at once seals what a process before its restart cannot open', () => {
    expect(opensEverywhere(OLD, `${NEW},${OLD}`)).toBe(false);
  });

  it('needs every secret resealed before the old key is removed', () => {
    const sealed = sealer(OLD).seal('secret', 'p');
    expect(() => sealer(NEW).open(sealed, 'p')).toThrow(SealError);
    const both = sealer(`${NEW},${OLD}`);
    expect(both.isCurrent(sealed)).toBe(false);
    expect(sealer(NEW).open(both.seal(both.open(sealed, 'p'), 'p'), 'p')).toBe('secret');
  });
});
