import { describe, it } from 'vitest';
import { decider } from '../../events/testing/given.ts';
import {
  decideRebuild,
  decideReplay,
  type RebuildEvidence,
  type ReplayEvidence,
  type ReplayVerdict,
} from './decide.ts';

describe('the verdict of a replay', () => {
  const NOT_STORED: ReplayEvidence = {
    stored: false,
    differs: false,
    verdict: undefined,
    storedElsewhere: false,
    expired: false,
    waits: false,
    processable: true,
  };
  const { given } = decider((evidence: ReplayEvidence, found: Partial<ReplayEvidence>) =>
    decideReplay({ ...evidence, ...found }),
  );

  it.each<[string, Partial<ReplayEvidence>, ReplayVerdict]>([
    ['an event without a stored row is new', {}, 'new'],
    ['an event with a stored row is stored', { stored: true }, 'stored'],
    [
      'an event with a different stored row would change',
      { stored: true, differs: true },
      'would_change',
    ],
    [
      'an event with a stored row is stored, whatever its verdict, age and duplicates',
      { stored: true, verdict: 'duplicate', storedElsewhere: true, expired: true },
      'stored',
    ],
    [
      'an event that the normaliser found a duplicate is a duplicate',
      { verdict: 'duplicate' },
      'duplicate',
    ],
    ['an event whose acceptance was repeated is a duplicate', { verdict: 'repeat' }, 'duplicate'],
    [
      'an event whose dedupe key is stored elsewhere is a duplicate',
      { storedElsewhere: true },
      'duplicate',
    ],
    ['a dead event stays dead, although it can now be processed', { verdict: 'dead' }, 'dead'],
    ['an event without a verdict whose dead letter waits is dead', { waits: true }, 'dead'],
    [
      'an event with a stored row is stored, although its dead letter waits',
      { stored: true, verdict: 'dead', waits: true },
      'stored',
    ],
    [
      'a dead event that was redriven is a duplicate',
      { verdict: 'dead', storedElsewhere: true },
      'duplicate',
    ],
    ['an event beyond its retention is expired', { expired: true }, 'expired'],
    [
      'an event that was expired on arrival is expired',
      { verdict: 'expired', expired: true },
      'expired',
    ],
    ['an event that cannot be processed is dead', { processable: false }, 'dead'],
    [
      'an event with a stored row is stored, although it can no longer be processed',
      { processable: false, stored: true },
      'stored',
    ],
  ])('says that %s', (_, found, verdict) => {
    given(NOT_STORED).when(found).then(verdict);
  });
});

describe('the verdict of a rebuild', () => {
  const PUBLISHED: RebuildEvidence = {
    verdict: undefined,
    seenBefore: false,
    addedByReplay: false,
    processable: true,
  };
  const { given } = decider((evidence: RebuildEvidence, found: Partial<RebuildEvidence>) =>
    decideRebuild({ ...evidence, ...found }),
  );

  it.each<[string, Partial<RebuildEvidence>, ReturnType<typeof decideRebuild>]>([
    ['a published event becomes a row', {}, 'row'],
    [
      'an event expired on arrival becomes a row, which retention removes',
      { verdict: 'expired' },
      'row',
    ],
    ['a duplicate becomes no row', { verdict: 'duplicate' }, 'duplicate'],
    ['a key seen before the verdicts begin is a duplicate', { seenBefore: true }, 'duplicate'],
    ['a dead event becomes no row', { verdict: 'dead' }, 'dead'],
    [
      'a dead event that a replay added becomes a row',
      { verdict: 'dead', addedByReplay: true },
      'row',
    ],
    ['an event that cannot be processed becomes no row', { processable: false }, 'dead'],
  ])('says that %s', (_, found, verdict) => {
    given(PUBLISHED).when(found).then(verdict);
  });
});
