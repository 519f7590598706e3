import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALONE, ON_SECOND_STACK, selectTests, stackSettings } from './selection.ts';

const checkout = join(import.meta.dirname, '../../..');
const select = (words: string[], cwd = checkout, isFull = false) =>
  selectTests(words, { checkout, cwd, isFull });

describe('./ravand test', () => {
  it('runs every kind when nothing is named', () => {
    const shared = select([]).filter(({ stack }) => stack === 'shared');
    expect(shared.map(({ kind }) => kind)).toEqual([
      ...['unit', 'contract', 'integration', 'browser', 'guarantees'],
    ]);
    const others = [...ON_SECOND_STACK, ...ALONE].sort();
    expect(shared.flatMap(({ without }) => without).sort()).toEqual(others);
  });

  it('runs tests that wait for minutes on a second stack, whatever their kind', () => {
    const second = select([]).filter(({ stack }) => stack === 'second');
    const paths = ON_SECOND_STACK.map((path) => join(checkout, path));
    expect(second.map(({ kind }) => kind)).toEqual(['integration', 'guarantees']);
    expect(second.flatMap(({ files }) => files)).toEqual(paths);
    for (const path of paths) expect(existsSync(path), path).toBe(true);
    expect(select(ON_SECOND_STACK.slice(0, 1))).toMatchObject([
      { kind: 'integration', files: paths.slice(0, 1), stack: 'second' },
    ]);
  });

  it('gives the stack of a file the settings that it needs, and no other stack', () => {
    const settingsFor = (words: string[]) => stackSettings(select(words), checkout);
    expect(settingsFor(['test/guarantees/brokers.test.ts'])).toEqual({ LOCAL_KAFKA_BROKERS: '3' });
    expect(settingsFor(['test/guarantees/shards.test.ts'])).toEqual({
      LOCAL_CLICKHOUSE_SHARDS: '2',
    });
    expect(settingsFor(['test/guarantees/outages.test.ts'])).toEqual({});
  });

  it('runs each test that changes the log for good on a stack of its own', () => {
    const own = select([], checkout, true).filter(({ stack }) => stack === 'own');
    expect(own.map(({ files }) => files)).toEqual(ALONE.map((path) => [join(checkout, path)]));
    for (const path of ALONE) expect(existsSync(join(checkout, path)), path).toBe(true);
    expect(select(['test/guarantees/books.test.ts', 'test/guarantees/growth.test.ts'])).toEqual([
      {
        ...{ kind: 'guarantees', files: [join(checkout, 'test/guarantees/books.test.ts')] },
        ...{ without: [], stack: 'shared' },
      },
      {
        ...{ kind: 'guarantees', files: [join(checkout, 'test/guarantees/growth.test.ts')] },
        ...{ without: [], stack: 'own' },
      },
    ]);
  });

  it('runs some that take minutes with --full only, or when they are named', () => {
    const file = join(checkout, 'test/guarantees/shards.test.ts');
    expect(select([]).flatMap(({ files }) => files)).not.toContain(file);
    expect(select([file])).toMatchObject([{ files: [file], stack: 'own' }]);
  });

  it('runs one kind when it is named', () => {
    expect(select(['contract'])).toMatchObject([{ kind: 'contract', files: [] }]);
  });

  it('runs a file beside the code as a unit test, and one under test/ as its folder says', () => {
    expect(select(['test/guarantees/books.test.ts', 'cli/arguments.test.ts'])).toMatchObject([
      { kind: 'unit', files: [join(checkout, 'cli/arguments.test.ts')] },
      { kind: 'guarantees', files: [join(checkout, 'test/guarantees/books.test.ts')] },
    ]);
  });

  it('resolves a file against the current folder', () => {
    expect(select(['arguments.test.ts'], join(checkout, 'cli'))).toMatchObject([
      { kind: 'unit', files: [join(checkout, 'cli/arguments.test.ts')] },
    ]);
  });

  it('refuses what is neither a file nor a kind', () => {
    expect(() => select(['contracts'])).toThrow('no kind of tests "contracts"');
  });
});
