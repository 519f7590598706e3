import { i18n } from '@lingui/core';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const folder = join(import.meta.dirname, 'src');
/** The English sentences of every page, each as one line of its catalogue. */
const sentences = globSync('**/texts/en.po', { cwd: folder }).flatMap((name) =>
  [...readFileSync(join(folder, name), 'utf8').matchAll(/^msgstr "(.+)"$/gm)].map(
    ([, text = '']) => ({ name, text }),
  ),
);

/** A number, or what stands for it, before the plural of a noun. */
const COUNTED = /\{\w+\} (?:[a-z]+ )?(?:people|(?!less\b)[a-z]+s)\b/i;
/** What is left when every plural of ICU is taken out, which may have braces in its braces. */
const withoutPlurals = (text: string) =>
  text.replaceAll(/\{\w+, plural,(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}/g, '');

describe('the English texts of the panel', () => {
  it('have the singular for one, wherever a count is shown', () => {
    expect(sentences.length).toBeGreaterThan(500);
    const found = sentences.filter(({ text }) => COUNTED.test(withoutPlurals(text)));
    expect(found).toEqual([]);
  });

  it('count with numbers as they are written, which the library takes for numbers', () => {
    const text = sentences.find(
      ({ name, text }) => name.startsWith('features/segments') && text.includes('person'),
    )?.text;
    i18n.load('en', { counted: text ?? '' });
    i18n.activate('en');
    const counted = (of: string) => i18n._('counted', { 0: of });
    expect(['0', '1', '2', '1,234'].map(counted)).toEqual([
      ...['0 people', '1 person', '2 people', '1,234 people'],
    ]);
  });
});
