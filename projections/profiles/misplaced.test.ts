import { expect, it } from 'vitest';
import { fold, gather } from './fold.ts';
import type { ProfileEvent } from './profile.ts';

const event = (partition: number, offset: number): ProfileEvent => ({
  ...{
    _epoch: 0,
    _partition: partition,
    _offset: offset,
    _index: 0,
    account_id: 1,
    event: 'x',
    user_id: 'u',
    anonymous_id: '',
  },
  ...{
    timestamp: 1,
    received_at: 1,
    revenue: 0,
    previous_id: '',
    type: 'track',
    push_provider: '',
    session_id: '',
  },
  ...{ traits: {}, trait_numbers: {}, profile: {} },
});

// A record that was put into the wrong partition of events.raw by hand stopped the whole partition
// for ever: the worker crashed at it after every restart.
it('an event of the wrong partition stays out and stops nobody', () => {
  const found = fold(gather([event(1, 0), event(2, 0), event(1, 1)]), [undefined]);
  expect(found.misplaced).toHaveLength(1);
  expect(found.changed).toMatchObject([{ eventCount: 2, last: { partition: 1, offset: 1 } }]);
});
