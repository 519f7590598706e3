import { describe, expect, it } from 'vitest';
import { decideRebuild, decideReplay, type ReplayEvidence } from './decide.ts';

const MISSING: ReplayEvidence = {
  stored: false,
  differs: false,
  verdict: undefined,
  storedElsewhere: false,
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
      { stored: true, verdict: 'duplicate', storedElsewhere: true, expired: true },
      'stored',
    ],
    ['the pipeline called it a duplicate', { verdict: 'duplicate' }, 'duplicate'],
    ['the same acceptance stood elsewhere', { verdict: 'repeat' }, 'duplicate'],
    ['its key stands at another place', { storedElsewhere: true }, 'duplicate'],
    ['it was dead and is not any more', { verdict: 'dead' }, 'new'],
    ['it was dead, and redriven since', { verdict: 'dead', storedElsewhere: true }, 'duplicate'],
    ['it is too old', { expired: true }, 'expired'],
    ['it was born too old', { verdict: 'expired', expired: true }, 'expired'],
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
  const clear = {
    verdict: undefined,
    seenBefore: false,
    addedByReplay: false,
    processable: true,
  } as const;
  it.each([
    ['published', {}, 'row'],
    ['born expired: retention decides', { verdict: 'expired' }, 'row'],
    ['a duplicate', { verdict: 'duplicate' }, 'duplicate'],
    ['seen before where no verdict reaches', { seenBefore: true }, 'duplicate'],
    ['dead', { verdict: 'dead' }, 'dead'],
    ['dead, and added by a replay since', { verdict: 'dead', addedByReplay: true }, 'row'],
    ['not processable', { processable: false }, 'dead'],
  ] as const)('%s', (_, changes, verdict) => {
    expect(decideRebuild({ ...clear, ...changes })).toBe(verdict);
  });
});
