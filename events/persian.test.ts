import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from './testing/arbitrary-json.ts';
import { normalisePersian } from './persian.ts';

const normal = (text: string) => normalisePersian(text, 8192);

describe('Persian normalisation (ingest 2.3)', () => {
  test.each([
    ['Arabic yeh', '\u0639\u0644\u064a', '\u0639\u0644\u06cc'],
    ['alef maksura', '\u0645\u0648\u0633\u0649', '\u0645\u0648\u0633\u06cc'],
    ['yeh with tail, e, barree, small v', '\u06cd\u06d0\u06d2\u06ce', '\u06cc\u06cc\u06cc\u06cc'],
    ['presentation forms of yeh', '\ufef1\ufef2\ufef3\ufef4\ufeef\ufbfc', '\u06cc'.repeat(6)],
    ['Arabic kaf', '\u0643\u062a\u0627\u0628', '\u06a9\u062a\u0627\u0628'],
    ['swash kaf and presentation forms', '\u06aa\ufed9\ufedc\ufb8e', '\u06a9'.repeat(4)],
    ['teh marbuta', '\u0642\u0647\u0648\u0629', '\u0642\u0647\u0648\u0647'],
    ['heh with yeh above', '\u062e\u0627\u0646\u06c0', '\u062e\u0627\u0646\u0647'],
    ['heh and hamza, decomposed', '\u062e\u0627\u0646\u0647\u0654', '\u062e\u0627\u0646\u0647'],
    ['heh with yeh above, decomposed (U+06D5 U+0654)', '\u06d5\u0654', '\u0647'],
    ['hamza on waw', '\u0645\u0624\u0645\u0646', '\u0645\u0648\u0645\u0646'],
    ['hamza on waw, decomposed', '\u0648\u0654', '\u0648'],
    ['alef with hamza above and below, wasla', '\u0623\u0625\u0671', '\u0627\u0627\u0627'],
    ['alef with hamza, decomposed', '\u0627\u0654\u0627\u0655', '\u0627\u0627'],
    [
      'diacritics',
      '\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f\u0670',
      '\u0645\u062d\u0645\u062f',
    ],
    ['Quranic signs', '\u0627\u06d6\u06dc\u06e4\u0615', '\u0627'],
    ['tatweel', '\u0633\u0640\u0640\u0644\u0627\u0645', '\u0633\u0644\u0627\u0645'],
    ['zero-width joiner', '\u0647\u200d', '\u0647'],
    ['whitespace run', 'a \t\n\u00a0\u2003\ufeff\u3000b', 'a b'],
    ['trim', '\ufeff \u00a0 a \r\n', 'a'],
    ['only whitespace', ' \u00a0\n', ''],
    ['a removed sign inside a run of spaces', 'a \u0640 b', 'a b'],
    ['a removed sign at the edges', '\u0640 a \u200d', 'a'],
    ['single trailing space', 'a ', 'a'],
    ['single inner no-break space', 'a\u00a0b', 'a b'],
  ])('handles %s', (_, sent, expected) => {
    expect(normal(sent)).toBe(expected);
  });
});

describe('Persian normalisation keeps', () => {
  test.each([
    ['zero-width non-joiner', '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645'],
    ['Latin case', 'Order Completed'],
    ['Persian digits', '\u06f1\u06f2\u06f3'],
    ['Arabic-Indic digits', '\u0661\u0662'],
    ['zero-width space', 'a\u200bb'],
    ['alef with madda', '\u0622\u0628'],
    ['yeh with hamza', '\u0645\u0633\u0626\u0648\u0644'],
    ['standalone hamza', '\u062c\u0632\u0621'],
    ['Persian yeh, keheh, gaf', '\u06cc\u06a9\u06af'],
    ['emoji without joiner', '\u{1f600}'],
    ['Latin accents', 'caf\u00e9 e\u0301'],
    ['punctuation', 'a/b-c_d.e'],
    ['empty', ''],
  ])('%s', (_, sent) => {
    expect(normal(sent)).toBe(sent);
  });

  test.each([
    ['alef with madda, decomposed', '\u0627\u0653', '\u0622'],
    ['yeh with hamza, decomposed', '\u064a\u0654', '\u0626'],
    ['Persian yeh with hamza, decomposed', '\u06cc\u0654', '\u0626'],
    ['yeh, a vowel sign, then hamza', '\u064a\u064e\u0654', '\u0626'],
    ['alef, hamza, then madda: the first sign composes', '\u0627\u0654\u0653', '\u0627'],
    ['alef, madda, then hamza below: the lower sign comes first', '\u0627\u0653\u0655', '\u0627'],
    ['tatweel parts letter and hamza', '\u064a\u0640\u0654', '\u06cc'],
    ['a space parts letter and hamza', '\u064a \u0654', '\u06cc'],
  ])('the composed form of %s', (_, sent, expected) => {
    expect(normal(sent)).toBe(expected);
  });
});

describe('the bound of a normalised text', () => {
  test('is applied between two characters', () => {
    expect(normalisePersian('سلام دنیا', 7)).toBe('سلا');
  });
  test('applies to the stored text, not to the sent one', () => {
    expect(normalisePersian(`${' '.repeat(500)}${'\u0640'.repeat(500)}abc`, 3)).toBe('abc');
  });
  test('leaves no trailing space', () => {
    expect(normalisePersian('ab cd', 3)).toBe('ab');
  });
  test('may be larger than any buffer', () => {
    expect(normalisePersian('\u0643'.repeat(20_000), 40_000)).toBe('\u06a9'.repeat(20_000));
  });
});

test('a normalised text is stable, well formed and within its bound', () => {
  fc.assert(
    fc.property(anyText, fc.nat(100), (text, bound) => {
      const once = normalisePersian(text, bound);
      expect(normalisePersian(once, bound)).toBe(once);
      expect(Buffer.byteLength(once)).toBeLessThanOrEqual(Math.min(bound, Buffer.byteLength(text)));
      expect(once.isWellFormed()).toBe(true);
    }),
    { numRuns: 3000 },
  );
});

test('one pass normalises every unit of the basic plane', () => {
  for (let unit = 0; unit < 0x10000; unit++) {
    const once = normal(`x${String.fromCharCode(unit)}x`);
    expect(normal(once)).toBe(once);
  }
});

test('canonically equivalent Arabic texts normalise to the same text', () => {
  const arabic = fc.string({
    unit: fc.integer({ min: 0x0621, max: 0x06d5 }).map((unit) => String.fromCharCode(unit)),
    maxLength: 20,
  });
  const signs = fc.string({
    unit: fc.constantFrom(
      '\u0627',
      '\u064a',
      '\u06d5',
      '\u0648',
      '\u0653',
      '\u0654',
      '\u0655',
      '\u064e',
      '\u0615',
      '\u0640',
    ),
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.oneof(arabic, signs), (text) => {
      expect(normal(text.normalize('NFD'))).toBe(normal(text.normalize('NFC')));
    }),
    { numRuns: 5000 },
  );
});

test('a letter with a million signs is normalised in linear time', () => {
  expect(normal(`\u0627${'\u0653\u0655'.repeat(500_000)}`)).toBe('\u0627');
});
