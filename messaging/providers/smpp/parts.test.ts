import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, test } from 'vitest';
import { partsOf } from './parts.ts';

/** What a phone shows. */
function shown(parts: ReturnType<typeof partsOf>): string {
  return parts
    .map(({ bytes, dataCoding, esmClass }) => {
      const text = esmClass === 0x40 ? bytes.subarray(6) : bytes;
      return dataCoding === 8 ? Buffer.from(text).swap16().toString('utf16le') : text.toString();
    })
    .join('');
}

describe('a text in parts', () => {
  test.each([
    ['سلام', 1, 8],
    ['س'.repeat(70), 1, 8],
    ['س'.repeat(71), 2, 8],
    ['س'.repeat(134), 2, 8],
    ['س'.repeat(135), 3, 8],
    ['a'.repeat(160), 1, 0],
    ['a'.repeat(161), 2, 0],
    ['a'.repeat(307), 3, 0],
    [`${'a'.repeat(70)}۱`, 2, 8],
    ['می\u200cشود', 1, 8],
    // The same byte means another character in GSM 03.38.
    ['a@b', 1, 8],
    ['a_b', 1, 8],
    ['$5', 1, 8],
    ['{', 1, 8],
  ])('%j has %i parts with data_coding %i', (text, count, dataCoding) => {
    const parts = partsOf(text, 7);
    expect(parts.map((part) => part.dataCoding)).toEqual(Array(count).fill(dataCoding));
    expect(shown(parts)).toBe(text);
  });

  test('whatever it is: nothing is lost, parts fit, and no character is cut', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 500 }),
      fc.string({ unit: fc.constantFrom('😀', 'س', 'a', '\u200c'), minLength: 1, maxLength: 500 }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const parts = partsOf(text, 300);
        expect(shown(parts)).toBe(text);
        for (const [at, { bytes, dataCoding, esmClass }] of parts.entries()) {
          expect(bytes.length).toBeLessThanOrEqual(dataCoding === 8 ? 140 : 160);
          if (esmClass === 0) continue;
          expect([...bytes.subarray(0, 6)]).toEqual([5, 0, 3, 300 & 0xff, parts.length, at + 1]);
          if (text.isWellFormed()) expect(shown(parts.slice(at, at + 1)).isWellFormed()).toBe(true);
        }
      }),
    );
  });

  test('in Persian has as many parts as another implementation counts', () => {
    const texts = fc.string({
      unit: fc.constantFrom('س', 'ل', 'ا', 'م', '۱', ' ', '\u200c', '😀'),
      minLength: 1,
      maxLength: 600,
    });
    fc.assert(
      fc.property(texts, (text) => {
        const { segments } = new SegmentedMessage(`س${text}`, 'UCS-2');
        expect(partsOf(`س${text}`, 1)).toHaveLength(segments.length);
      }),
    );
  });
});
