import { describe, expect, it } from 'vitest';
import { decideRebuild, decideReplay, type Evidence } from './decide.ts';

const MISSING: Evidence = {
  stored: false,
  differs: false,
  said: undefined,
  twin: false,
  expired: false,
  processable: true,
};

describe('the verdict of a replay', () => {
  it.each([
    ['nothing stands', {}, 'new'],
    ['a row stands', { stored: true }, 'stored'],
    ['another row stands', { stored: true, differs: true }, 'would_change'],
    [
      'a row stands, whatever was said and however old it is',
      { stored: true, said: 'duplicate', twin: true, expired: true },
      'stored',
    ],
    ['the pipeline called it a duplicate', { said: 'duplicate' }, 'duplicate'],
    ['the same acceptance stood elsewhere', { said: 'repeat' }, 'duplicate'],
    ['its key stands at another place', { twin: true }, 'duplicate'],
    ['it was dead and is not any more', { said: 'dead' }, 'new'],
    ['it was dead, and redriven since', { said: 'dead', twin: true }, 'duplicate'],
    ['it is too old', { expired: true }, 'expired'],
    ['it was born too old', { said: 'expired', expired: true }, 'expired'],
    ['it cannot be processed', { processable: false }, 'dead'],
    [
      'it cannot be processed, and stands all the same',
      { processable: false, stored: true },
      'stored',
    ],
  ] as const)('%s', (_, changes, verdict) => {
    expect(decideReplay({ ...MISSING, ...changes })).toBe(verdict);
  });
});

describe('the verdict of a rebuild', () => {
  const clear = { said: undefined, seenBefore: false, added: false, processable: true } as const;
  it.each([
    ['published', {}, 'row'],
    ['born expired: retention decides', { said: 'expired' }, 'row'],
    ['a duplicate', { said: 'duplicate' }, 'duplicate'],
    ['seen before where no verdict reaches', { seenBefore: true }, 'duplicate'],
    ['dead', { said: 'dead' }, 'dead'],
    ['dead, and added by a replay since', { said: 'dead', added: true }, 'row'],
    ['not processable', { processable: false }, 'dead'],
  ] as const)('%s', (_, changes, verdict) => {
    expect(decideRebuild({ ...clear, ...changes })).toBe(verdict);
  });
});
