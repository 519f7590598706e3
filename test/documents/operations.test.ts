import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const CHECKOUT = join(import.meta.dirname, '../..');
const PAGES = globSync('docs/operations/*.md', { cwd: CHECKOUT });
const TESTS = globSync('{test,ops,cli,deploy}/**/*.test.ts', { cwd: CHECKOUT })
  .concat(globSync('test/support/**/*.ts', { cwd: CHECKOUT }))
  .map((path) => readFileSync(join(CHECKOUT, path), 'utf8'))
  .join('\n');

/** Command and verb of each `./ravand …` on a page. */
function commandsOf(text: string): string[] {
  const found = [...text.matchAll(/\.\/ravand ([a-z]+)(?: ([a-z][a-z-]*))?/g)];
  return [
    ...new Set(found.map(([, command = '', verb]) => (verb ? `${command} ${verb}` : command))),
  ];
}

/** Whether a test passes the words to the command line, one after the other. */
function isRun(command: string): boolean {
  const words = command.split(' ').map((word) => `['"\`]${word}['"\`]`);
  return new RegExp(words.join(',\\s*(?:\\.\\.\\.\\[)?')).test(TESTS);
}

describe('the pages of docs/operations', () => {
  it('name no command that no test runs', () => {
    // `up` and `test` are what runs every test on a stack.
    const known = /^(up|test)\b/;
    for (const page of PAGES) {
      const commands = commandsOf(readFileSync(join(CHECKOUT, page), 'utf8'));
      const missing = commands.filter((command) => !known.test(command) && !isRun(command));
      expect(missing, page).toEqual([]);
    }
    expect(PAGES.length).toBeGreaterThan(4);
  });

  it('mark the commands of other tools that have not been run', () => {
    for (const page of PAGES) {
      const text = readFileSync(join(CHECKOUT, page), 'utf8');
      for (const { index, 0: block } of text.matchAll(/^```(?:sh|sql)\n[^]*?^```$/gm)) {
        const paragraph = text.slice(0, index).trimEnd().split('\n\n').at(-1) ?? '';
        expect(`${paragraph}\n${block}`, page).toMatch(/Not run here/);
      }
    }
  });
});
