import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { selectTests } from './selection.ts';

const checkout = join(import.meta.dirname, '../../..');
const select = (words: string[], cwd = checkout) => selectTests(words, { checkout, cwd });

describe('./ravand test', () => {
  it('runs every kind when nothing is named', () => {
    expect(select([]).map(({ kind }) => kind)).toEqual([
      'unit',
      'contract',
      'integration',
      'guarantees',
    ]);
  });

  it('runs one kind when it is named', () => {
    expect(select(['contract'])).toEqual([{ kind: 'contract', files: [] }]);
  });

  it('runs a file beside the code as a unit test, and one under test/ as its folder says', () => {
    expect(select(['test/guarantees/books.test.ts', 'cli/arguments.test.ts'])).toEqual([
      { kind: 'unit', files: [join(checkout, 'cli/arguments.test.ts')] },
      { kind: 'guarantees', files: [join(checkout, 'test/guarantees/books.test.ts')] },
    ]);
  });

  it('resolves a file against the current folder', () => {
    expect(select(['arguments.test.ts'], join(checkout, 'cli'))).toEqual([
      { kind: 'unit', files: [join(checkout, 'cli/arguments.test.ts')] },
    ]);
  });

  it('refuses what is neither a file nor a kind', () => {
    expect(() => select(['contracts'])).toThrow('no kind of tests "contracts"');
  });
});
