import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase32, encodeBase32 } from './base32.ts';
import { formatTrackingKey, parseTrackingKeys, TRACKING_KEYS_FORM } from './tracking-keys.ts';
import { TrackingTokens, type TrackingKey, type TrackingPurpose } from './tracking-token.ts';

const PURPOSES = ['open', 'unsubscribe', 'preferences', 'bounce'] as const;
const OLD: TrackingKey = { id: 7, bytes: Buffer.alloc(32, 7) };
const NEW: TrackingKey = { id: 8, bytes: Buffer.alloc(32, 8) };
const tokens = new TrackingTokens([OLD]);

const messages = fc.record({
  accountId: fc.oneof(fc.nat(), fc.maxSafeNat()),
  ref: fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
});
const purposes = fc.constantFrom(...PURPOSES);

describe('a tracking token', () => {
  it('names its message again, is short, and needs no escape in its place', () => {
    fc.assert(
      fc.property(messages, purposes, (message, purpose) => {
        const text = tokens.write(purpose, message);
        expect(tokens.read(purpose, text)).toEqual(message);
        if (purpose === 'bounce') expect(text).toMatch(/^[0-9a-z]{40,52}$/);
        else expect(text).toMatch(/^[\w-]{34,43}$/);
      }),
    );
  });

  it('of another purpose is invalid, also when its bytes are spelled for that purpose', () => {
    fc.assert(
      fc.property(messages, purposes, purposes, (message, written, asked) => {
        fc.pre(written !== asked);
        expect(tokens.read(asked, tokens.write(written, message))).toBeUndefined();
        expect(tokens.read(asked, respelled(written, asked, message))).toBeUndefined();
      }),
    );
  });

  it('with any changed, missing or added byte is invalid', () => {
    fc.assert(
      fc.property(messages, fc.nat(), fc.integer({ min: 1, max: 255 }), (message, at, change) => {
        const bytes = Buffer.from(tokens.write('open', message), 'base64url');
        const forged = Buffer.from(bytes);
        const index = at % bytes.length;
        forged[index] = (forged[index] ?? 0) ^ change;
        expect(tokens.read('open', forged.toString('base64url'))).toBeUndefined();
        const cut = bytes.subarray(0, index).toString('base64url');
        expect(tokens.read('open', cut)).toBeUndefined();
        expect(
          tokens.read('open', bytes.subarray(index + 1).toString('base64url')),
        ).toBeUndefined();
        const longer = Buffer.concat([bytes, Buffer.of(change)]).toString('base64url');
        expect(tokens.read('open', longer)).toBeUndefined();
      }),
    );
  });

  it('of another account is invalid for this one', () => {
    fc.assert(
      fc.property(messages, fc.nat(126), fc.nat(126), (message, own, other) => {
        fc.pre(own !== other);
        const bytes = Buffer.from(
          tokens.write('open', { ...message, accountId: own }),
          'base64url',
        );
        bytes[2] = other;
        expect(tokens.read('open', bytes.toString('base64url'))).toBeUndefined();
      }),
    );
  });

  it('has one spelling in an address of a page, and either case in an address of mail', () => {
    fc.assert(
      fc.property(messages, fc.nat(), (message, at) => {
        const text = tokens.write('unsubscribe', message);
        const index = at % text.length;
        const sign = text.charAt(index);
        const swapped = sign === sign.toLowerCase() ? sign.toUpperCase() : sign.toLowerCase();
        if (swapped !== sign)
          expect(tokens.read('unsubscribe', replaced(text, index, swapped))).toBeUndefined();
        for (const other of [`${text}=`, ` ${text}`, `${text}\n`, replaced(text, index, '.')])
          expect(tokens.read('unsubscribe', other)).toBeUndefined();
        const local = tokens.write('bounce', message);
        expect(tokens.read('bounce', local.toUpperCase())).toEqual(message);
        expect(tokens.read('bounce', `${local}0`)).toBeUndefined();
      }),
    );
    // The last character of 25 bytes has four unused bits: 15 other characters mean the same bytes.
    const text = tokens.write('open', { accountId: 1, ref: Buffer.alloc(12) });
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const valid = Array.from(alphabet).filter((last) =>
      tokens.read('open', text.slice(0, -1) + last),
    );
    expect(valid).toEqual([text.at(-1)]);
  });

  it('is never made of text that nobody signed', () => {
    fc.assert(
      fc.property(fc.string(), purposes, (text, purpose) => {
        expect(tokens.read(purpose, text)).toBeUndefined();
      }),
    );
    expect(tokens.read('open', 'A'.repeat(16_384))).toBeUndefined();
    expect(tokens.read('bounce', '0'.repeat(16_384))).toBeUndefined();
  });
});

describe('a rotation of keys', () => {
  const rotated = new TrackingTokens([NEW, OLD]);
  const message = { accountId: 300, ref: Buffer.alloc(12, 1) };

  it('signs with the newest key, and reads tokens of those that are kept', () => {
    const old = tokens.write('open', message);
    const fresh = rotated.write('open', message);
    expect(rotated.read('open', old)).toEqual(message);
    expect(rotated.read('open', fresh)).toEqual(message);
    expect(tokens.read('open', fresh)).toBeUndefined();
    expect(new TrackingTokens([NEW]).read('open', old)).toBeUndefined();
  });

  it('does not let a key under the id of another one verify its tokens', () => {
    const impostor = new TrackingTokens([{ ...NEW, id: OLD.id }]);
    expect(tokens.read('open', impostor.write('open', message))).toBeUndefined();
  });
});

describe('TRACKING_KEYS', () => {
  const [old, fresh] = [OLD, NEW].map(formatTrackingKey);

  it('holds keys, newest first; empty means that there are none', () => {
    const message = { accountId: 1, ref: Buffer.alloc(12) };
    const parsed = parseTrackingKeys(`${fresh}, ${old}`);
    expect(parsed?.write('open', message)).toBe(new TrackingTokens([NEW]).write('open', message));
    expect(parsed?.read('open', tokens.write('open', message))).toEqual(message);
    expect(parseTrackingKeys(' ')).toBeUndefined();
  });

  it.each(['x', '256:' + 'A'.repeat(43) + '=', '1:AAAA', `${old},`, `${old},${old}`, `-1:${old}`])(
    'is refused without naming what it holds: %s',
    (text) => {
      expect(() => parseTrackingKeys(text)).toThrow(new Error(TRACKING_KEYS_FORM));
    },
  );
});

/** The bytes of a token of one purpose, spelled as those of another. */
function respelled(
  written: TrackingPurpose,
  asked: TrackingPurpose,
  message: { accountId: number; ref: Buffer },
): string {
  const text = tokens.write(written, message);
  const bytes = written === 'bounce' ? decodeBase32(text) : Buffer.from(text, 'base64url');
  if (!bytes) throw new Error('unreadable');
  return asked === 'bounce' ? encodeBase32(bytes) : bytes.toString('base64url');
}

function replaced(text: string, index: number, by: string): string {
  return text.slice(0, index) + by + text.slice(index + 1);
}
