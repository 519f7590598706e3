import type { AST, Rule } from 'eslint';
import { basename, relative } from 'node:path';

/** The word list, docs/banned-words.json: each entry maps a term to what to write instead. */
export interface WordList {
  /** Banned in identifiers, file names, comments and strings. */
  anywhere: Readonly<Record<string, string>>;
  /** Banned in identifiers and file names. In upper case: banned in constants only. */
  identifiers: Readonly<Record<string, string>>;
  /** Banned in strings. */
  strings: Readonly<Record<string, string>>;
  /** Sequences of words that contain a banned word legitimately, such as stored names. */
  allowed: readonly string[];
  /** Words that are allowed in files whose path matches the pattern. */
  exceptions: readonly { files: string; words: readonly string[] }[];
}

type Place = 'identifiers' | 'comments' | 'strings';

interface Term {
  /** Words of the term; a last `*` matches any ending. */
  words: readonly string[];
  instead: string;
}

/** Words of a text: `nameHash`, `name_hash` and "name hash" all have two. */
export function wordsOf(text: string): string[] {
  return (
    text
      .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
      .match(/[A-Za-z]+|\d+/g) ?? []
  );
}

/** Finds banned terms; answers each found term once, with what to write instead. */
export function findBanned(
  list: WordList,
  { text, place, file }: { text: string; place: Place; file: string },
): { word: string; instead: string }[] {
  const excepted = list.exceptions.filter(({ files }) => new RegExp(files).test(file));
  const words = withoutAllowed(list, wordsOf(text));
  return termsOf(list, place).flatMap(({ words: term, instead }) => {
    const word = term.join(' ');
    if (excepted.some((exception) => exception.words.includes(word))) return [];
    const isFound = words.some((_, at) => term.every((part, n) => matches(part, words[at + n])));
    return isFound ? [{ word, instead }] : [];
  });
}

function termsOf(list: WordList, place: Place): Term[] {
  const entries = Object.entries({
    ...list.anywhere,
    ...(place === 'comments' ? {} : list[place]),
  });
  return entries.map(([term, instead]) => ({ words: term.split(' '), instead }));
}

function matches(part: string, word: string | undefined): boolean {
  if (word === undefined) return false;
  if (part === part.toUpperCase() && /[A-Z]/.test(part)) return word === part;
  const lower = word.toLowerCase();
  return part.endsWith('*') ? lower.startsWith(part.slice(0, -1)) : lower === part;
}

/** The words of a text without the sequences that are allowed. */
function withoutAllowed({ allowed }: WordList, words: readonly string[]): string[] {
  const sequences = allowed.map((text) => wordsOf(text.toLowerCase()));
  const rest: string[] = [];
  for (let at = 0; at < words.length;) {
    const found = sequences.filter((one) => one.every((part, n) => matches(part, words[at + n])));
    const length = Math.max(0, ...found.map((one) => one.length));
    // An empty word separates what is not adjacent in the text.
    rest.push(length > 0 ? '' : (words[at] ?? ''));
    at += length || 1;
  }
  return rest;
}

const FIRST = { start: { line: 1, column: 0 }, end: { line: 1, column: 0 } };

/**
 * Reports terms of the word list in a file's identifiers, in its name, its comments and
 * its strings. Options: the word list.
 */
export const bannedWords: Rule.RuleModule = {
  meta: {
    type: 'suggestion',
    schema: [{ type: 'object' }],
    messages: { banned: 'do not write "{{word}}": {{instead}}' },
  },
  create(context) {
    const list = context.options[0] as WordList;
    const file = relative(context.cwd, context.filename);
    const check = (text: string, place: Place, loc: AST.SourceLocation | null | undefined) => {
      for (const data of findBanned(list, { text, place, file }))
        context.report({ loc: loc ?? FIRST, messageId: 'banned', data });
    };
    return {
      Program() {
        check(basename(file).replace(/\.[^.]*$/, ''), 'identifiers', FIRST);
        for (const { value, loc } of context.sourceCode.getAllComments())
          check(value, 'comments', loc);
      },
      Identifier(node) {
        check(node.name, 'identifiers', node.loc);
      },
      PrivateIdentifier(node) {
        check(node.name, 'identifiers', node.loc);
      },
      Literal(node) {
        if (typeof node.value === 'string' && !isModulePath(node))
          check(node.value, 'strings', node.loc);
      },
      TemplateElement(node) {
        check(node.value.raw, 'strings', node.loc);
      },
    };
  },
};

/** Names of imported files are checked where the file is. */
function isModulePath({ parent }: Rule.Node): boolean {
  return parent !== null && /^(Import|Export)/.test(parent.type);
}
