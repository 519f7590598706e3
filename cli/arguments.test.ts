import { describe, expect, it } from 'vitest';
import { parseLine } from './arguments.ts';
import { CommandError } from './command.ts';

const options = { full: { type: 'boolean' }, lines: { type: 'string', short: 'n' } } as const;
const parse = (...args: string[]) =>
  parseLine({ args, options, usage: 'test [KIND]', words: { min: 0, max: 1 } });

describe('the parser of a command line', () => {
  it('reads options and words in any order', () => {
    expect(parse('unit', '--full', '-n', '5')).toEqual({
      values: { full: true, lines: '5' },
      words: ['unit'],
    });
  });

  it.each([
    [['--nope'], 'unknown option --nope'],
    [['-x'], 'unknown option -x'],
    [['unit', 'more'], 'unexpected "more"'],
    [['--lines'], "option '-n, --lines <value>' argument missing"],
    [['--full=yes'], "option '--full' does not take an argument"],
  ])('refuses %j with a sentence and the usage', (args, sentence) => {
    expect(() => parse(...args)).toThrow(`${sentence}\nusage: ./ravand test [KIND]`);
  });

  it('reports missing words with exit code 2', () => {
    const line = () =>
      parseLine({ args: [], options: {}, usage: 'stop PART', words: { min: 1, max: 1 } });
    expect(line).toThrow(CommandError);
    expect(line).toThrow('something is missing\nusage: ./ravand stop PART');
    expect(new CommandError('x', 2).exitCode).toBe(2);
  });
});
