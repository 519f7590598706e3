import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, it } from 'vitest';
import { smsParts } from './sms-parts.ts';

describe('the parts of an SMS', () => {
  it.each([
    ['', 'gsm7', 0, 0],
    ['a'.repeat(160), 'gsm7', 160, 1],
    ['a'.repeat(161), 'gsm7', 161, 2],
    ['a'.repeat(306), 'gsm7', 306, 2],
    ['a'.repeat(307), 'gsm7', 307, 3],
    ['€'.repeat(80), 'gsm7', 160, 1],
    ['€'.repeat(81), 'gsm7', 162, 2],
    // An extension character does not begin in one part and end in the next.
    [`${'a'.repeat(152)}€${'a'.repeat(152)}`, 'gsm7', 306, 3],
    ['س'.repeat(70), 'ucs2', 70, 1],
    ['س'.repeat(71), 'ucs2', 71, 2],
    ['س'.repeat(134), 'ucs2', 134, 2],
    ['س'.repeat(135), 'ucs2', 135, 3],
    [`${'س'.repeat(66)}😀${'س'.repeat(66)}`, 'ucs2', 134, 3],
    [`${'a'.repeat(70)}۱`, 'ucs2', 71, 2],
    [`${'a'.repeat(70)}\u200c`, 'ucs2', 71, 2],
    ['`', 'ucs2', 1, 1],
  ])('of %j: %s, %i units, %i parts', (text, encoding, units, count) => {
    const found = smsParts(text);
    expect(found).toMatchObject({ encoding, units });
    expect(found.parts).toHaveLength(count);
    expect(found.parts.join('')).toBe(text);
  });

  it('are as many as another implementation counts, and no character is cut', () => {
    const unit = fc.oneof(
      fc.constantFrom(...Array.from('abc 123@$_€^{}[]~|\\£Δß\n')),
      fc.constantFrom('😀', 'س', '۱', '\u200c', '`', 'a', 'b', '€', '{'),
    );
    const texts = fc.oneof(
      fc.string({
        unit: fc.constantFrom(...Array.from('ab€{}[] @_£')),
        minLength: 1,
        maxLength: 700,
      }),
      fc.string({ unit, minLength: 1, maxLength: 500 }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const { encoding, parts } = smsParts(text);
        const oracle = new SegmentedMessage(text, 'auto');
        expect(encoding).toBe(oracle.encodingName === 'GSM-7' ? 'gsm7' : 'ucs2');
        expect(parts).toHaveLength(oracle.segments.length);
        expect(parts.join('')).toBe(text);
        for (const part of parts) expect(part.isWellFormed()).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
