import { expect, it } from 'vitest';
import { isWord, MAX_WORD_BYTES, propertyWord } from './property-words.ts';

it('a word has no digits and no separator, and few bytes', () => {
  const most = 'ش'.repeat(MAX_WORD_BYTES / 2);
  for (const word of ['a', 'true', 'free plan', 'تهران', '\n', '\0', '😀', '۲', most])
    expect([word, isWord(word)]).toEqual([word, true]);
  for (const other of ['', '1', 'a0', 'b-9', 'a=b', '=', `${most}x`, 'x'.repeat(1000)])
    expect([other, isWord(other)]).toEqual([other, false]);
});

it('no two properties have the same word', () => {
  const names = ['', 'a', 'a=', 'a=b', '=', 'b', 'c'];
  const words = ['a', 'b', 'c', 'bc', ' '].filter(isWord);
  const all = names.flatMap((name) => words.map((word) => propertyWord(name, word)));
  expect(new Set(all).size).toBe(names.length * words.length);
});
