import { RuleTester } from 'eslint';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bannedWords, findBanned, wordsOf, type WordList } from './banned-words.ts';

const list = JSON.parse(
  readFileSync(join(import.meta.dirname, '../docs/banned-words.json'), 'utf8'),
) as WordList;
const options = [list];

describe('the words', () => {
  it.each([
    ['nameHash', ['name', 'Hash']],
    ['MOST_RECORDS', ['MOST', 'RECORDS']],
    ['parseHTTPBody', ['parse', 'HTTP', 'Body']],
    ['it rests; lastWords', ['it', 'rests', 'last', 'Words']],
  ])('of the text %j are %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });
});

describe('the word list', () => {
  it('allows a term in an allowed sequence of words, however that is written', () => {
    const find = (text: string) => findBanned(list, { text, place: 'identifiers', file: 'a.ts' });
    expect(['DEAD_LETTER_TOPIC', 'deadLetterOf', 'dead\n * letters'].flatMap(find)).toEqual([]);
    expect(find('letterOfTheDead')).toMatchObject([{ word: 'letter' }]);
  });

  it('finds every ending of a term with an asterisk', () => {
    const found = findBanned(list, { text: 'settlements', place: 'comments', file: 'a.ts' });
    expect(found).toMatchObject([{ word: 'settle*' }]);
  });

  it('allows a word in the files of an exception only', () => {
    const find = (file: string) => findBanned(list, { text: 'a letter', place: 'comments', file });
    expect(find('events/persian.ts')).toEqual([]);
    expect(find('pipeline/persian.ts')).toMatchObject([{ word: 'letter' }]);
  });
});

RuleTester.describe = describe;
RuleTester.it = it;
new RuleTester().run('banned-words', bannedWords, {
  valid: [
    { code: 'const MAX_RECORDS = 5; // a dead letter', options },
    { code: 'const DEAD_LETTER_BREAKER_LEAST = "dead letters go to events.dead";', options },
    { code: 'const most = 1; // most of them tell the time', options },
    { code: 'import { x } from "./bell.js"; x();', options },
    { code: 'x.doorbell = "retry right away";', options },
  ],
  invalid: [
    { code: 'class Turnstile {}', options, errors: ['do not write "turnstile": semaphore'] },
    { code: 'const MOST_RECORDS = 5;', options, errors: ['do not write "MOST": MAX'] },
    { code: 'x.nameHash();', options, errors: ['do not write "name hash": distinct id hash'] },
    { code: 'class A { #tell() {} }', options, errors: [{ messageId: 'banned' }] },
    {
      code: '// ends with a long\n// patience',
      options,
      errors: ['do not write "patience": timeout'],
    },
    { code: 'log(`Redis is away`);', options, errors: ['do not write "away": unavailable'] },
    { code: 'const a = "a letter";', options, errors: ['do not write "letter": dead letter'] },
    { code: 'a();', filename: 'bell.js', options, errors: ['do not write "bell": wake signal'] },
  ],
});
