import { describe, expect, it } from 'vitest';
import { UsageError } from '../../cli/command.ts';
import { parseEraseLine } from './request.ts';

const PERSON = ['--account', '7', '--user-id', 'u'];

describe('a line of ./ravand erase', () => {
  it.each([
    ['--resume', '3', '--dry-run'],
    ['--resume', '3', ...PERSON],
    ['rewrite', '--dry-run'],
    ['recover', '--dry-run'],
    ['rotate-key', '--dry-run'],
    ['verify', '3', '--dry-run'],
    ['rewrite', '--account', '7'],
    ['status', '--user-id', 'u'],
    ['rewrite', '3'],
    ['resume', '3'],
    ['u', ...PERSON],
    ['constructor'],
  ])('is refused when an option or a word would be ignored: %s %s %s', (...args) => {
    expect(() => parseEraseLine(args)).toThrow(UsageError);
  });

  it.each([
    [...PERSON, '--dry-run', '--json'],
    [...PERSON, '--anonymous-id', 'a', '--text', 'x', '--forget', '--force'],
    ['--resume', '3', '--forget', '--text', 'x', '--json'],
    ['status', '--json'],
    ['rewrite', '--json'],
    ['verify', '3', '--user-id', 'u', '--text', 'x'],
    ['verify', ...PERSON],
  ])('is read: %s %s %s', (...args) => {
    expect(parseEraseLine(args).values).toBeDefined();
  });
});
