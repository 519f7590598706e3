import { describe, expect, it } from 'vitest';
import type { ClaimVerdict } from '../events/claims/verdict.ts';
import type { AcceptedEvent } from '../events/validate-event.ts';
import { claimPositions, freshEvents } from './fresh-events.ts';

function event(index: number, generated = false): AcceptedEvent {
  return {
    index,
    type: 'track',
    distinctId: 'a',
    message_id: `m${index}`,
    generated,
    timestamp: 0,
    warnings: [],
  };
}

function fresh(events: AcceptedEvent[], ...verdicts: ClaimVerdict[]) {
  const found = freshEvents(events, verdicts);
  return { ...found, events: found.events.map(({ index }) => index) };
}

describe('fresh events', () => {
  it('are all events when none is a duplicate', () => {
    expect(fresh([event(0), event(1)], 'claimed', 'pending-elsewhere')).toEqual({
      events: [0, 1],
      duplicates: 0,
      claims: undefined,
    });
  });

  it('exclude duplicates, and repeats within the request', () => {
    expect(
      fresh(
        [event(0), event(1), event(2), event(3)],
        'claimed',
        'durable',
        'repeated',
        'unguarded',
      ),
    ).toEqual({
      events: [0, 3],
      duplicates: 2,
      claims: [0, 3],
    });
  });

  it('include events whose id the gateway generated; these have no claim', () => {
    expect(
      fresh([event(0, true), event(1), event(2, true), event(3)], 'durable', 'claimed'),
    ).toEqual({
      events: [0, 2, 3],
      duplicates: 1,
      claims: [-1, -1, 1],
    });
  });
});

describe('the claims of some fresh events', () => {
  it('are found although duplicates were left out', () => {
    const some = freshEvents(
      [event(0), event(1, true), event(2), event(3)],
      ['durable', 'claimed', 'claimed'],
    );
    expect(claimPositions(some, [0, 2])).toEqual([2]);
    expect(claimPositions(some, undefined)).toEqual([1, 2]);
    const all = freshEvents([event(0), event(1)], ['claimed', 'claimed']);
    expect(claimPositions(all, undefined)).toBeUndefined();
    expect(claimPositions(all, [1])).toEqual([1]);
  });
});
