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
  const found = compiled(list).find(text, place);
  if (found.length === 0) return [];
  const excepted = list.exceptions.filter(({ files }) => new RegExp(files).test(file));
  return found
    .map(({ words, instead }) => ({ word: words.join(' '), instead }))
    .filter(({ word }) => !excepted.some((exception) => exception.words.includes(word)));
}

const compiledLists = new WeakMap<WordList, CompiledWordList>();

function compiled(list: WordList): CompiledWordList {
  const found = compiledLists.get(list) ?? new CompiledWordList(list);
  compiledLists.set(list, found);
  return found;
}

/** A list whose answers are kept: the same names and strings are met again and again. */
class CompiledWordList {
  readonly #allowed: readonly (readonly string[])[];
  readonly #terms: Readonly<Record<Place, readonly Term[]>>;
  readonly #found = {
    identifiers: new Map<string, readonly Term[]>(),
    comments: new Map<string, readonly Term[]>(),
    strings: new Map<string, readonly Term[]>(),
  };

  constructor(list: WordList) {
    this.#allowed = list.allowed.map((text) => wordsOf(text.toLowerCase()));
    this.#terms = {
      identifiers: termsOf({ ...list.anywhere, ...list.identifiers }),
      comments: termsOf(list.anywhere),
      strings: termsOf({ ...list.anywhere, ...list.strings }),
    };
  }

  /** The terms in a text, exceptions of files among them. */
  find(text: string, place: Place): readonly Term[] {
    const kept = this.#found[place].get(text);
    if (kept) return kept;
    const words = this.#withoutAllowed(wordsOf(text));
    const found = this.#terms[place].filter(({ words: term }) =>
      words.some((_, at) => isAt(words, at, term)),
    );
    this.#found[place].set(text, found);
    return found;
  }

  /** The words of a text without the sequences that are allowed. */
  #withoutAllowed(words: readonly string[]): string[] {
    const rest: string[] = [];
    for (let at = 0; at < words.length;) {
      const found = this.#allowed.filter((one) => isAt(words, at, one));
      const length = Math.max(0, ...found.map((one) => one.length));
      // An empty word separates what is not adjacent in the text.
      rest.push(length > 0 ? '' : (words[at] ?? ''));
      at += length || 1;
    }
    return rest;
  }
}

function termsOf(entries: Readonly<Record<string, string>>): Term[] {
  return Object.entries(entries).map(([term, instead]) => ({ words: term.split(' '), instead }));
}

const isAt = (words: readonly string[], at: number, term: readonly string[]) =>
  term.every((part, n) => matches(part, words[at + n]));

function matches(part: string, word: string | undefined): boolean {
  if (word === undefined) return false;
  if (part === part.toUpperCase() && /[A-Z]/.test(part)) return word === part;
  const lower = word.toLowerCase();
  return part.endsWith('*') ? lower.startsWith(part.slice(0, -1)) : lower === part;
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
