import { describe, it } from 'vitest';
import { evolver } from '../../events/testing/given.ts';
import { evolve, UNKNOWN, type LogSnapshot } from './high-watermark.ts';

const { given } = evolver(evolve);

const snapshot = (
  at: number,
  [raw, normaliser, normalised, sink]: [number, number, number, number],
): LogSnapshot => ({
  at,
  rawEnds: new Map([[0, raw]]),
  normaliserCommits: new Map([[0, normaliser]]),
  normalisedEnds: new Map([[0, normalised]]),
  sinkCommits: new Map([[0, sink]]),
});

describe('the high watermark of stored events', () => {
  it('is the time of the snapshot when both consumer groups have reached the ends of their topics', () => {
    given(UNKNOWN)
      .when(snapshot(5, [10, 10, 3, 3]))
      .then({ until: 5 });
  });

  it('is the time of the snapshot when the topics are empty', () => {
    given(UNKNOWN)
      .when(snapshot(5, [0, 0, 0, 0]))
      .then({ until: 5 });
  });

  it('stays unknown while the ends of the first snapshot have not been reached', () => {
    given(UNKNOWN)
      .when(snapshot(1, [10, 8, 3, 2]), snapshot(2, [20, 12, 5, 4]))
      .then({ until: 0 });
  });

  it('advances under steady traffic, although the consumers never reach the current ends', () => {
    given(UNKNOWN)
      .when(snapshot(1, [10, 8, 3, 2]), snapshot(2, [20, 12, 5, 4]), snapshot(3, [30, 22, 9, 5]))
      .then({ until: 1 });
  });

  it('does not advance while the normaliser makes no progress', () => {
    const later = [2, 3, 4, 5, 6, 7, 8].map((at) => snapshot(at, [10 + at, 9, 3, 3]));
    given(UNKNOWN)
      .when(snapshot(1, [10, 9, 3, 3]), ...later)
      .then({ until: 0 });
  });
});
