import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c } from './crc32c.ts';

describe('crc32c', () => {
  it.each([
    ['no bytes', Buffer.alloc(0), 0],
    ['the check input of the catalogue of CRCs', Buffer.from('123456789'), 0xe3069283],
    ['RFC 3720 B.4: 32 bytes of zeroes', Buffer.alloc(32), 0x8a9136aa],
    ['RFC 3720 B.4: 32 bytes of ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
    [
      'RFC 3720 B.4: 32 incrementing bytes',
      Buffer.from(Array.from({ length: 32 }, (_, at) => at)),
      0x46dd794e,
    ],
    [
      'RFC 3720 B.4: 32 decrementing bytes',
      Buffer.from(Array.from({ length: 32 }, (_, at) => 31 - at)),
      0x113fdb5c,
    ],
  ])('returns the published value for %s', (_, bytes, expected) =>
    expect(crc32c(bytes)).toBe(expected),
  );

  it('returns the same for several buffers as for their concatenation', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (bytes, cut) => {
        expect(crc32c(bytes.subarray(cut), crc32c(bytes.subarray(0, cut)))).toBe(crc32c(bytes));
      }),
    );
  });
});
