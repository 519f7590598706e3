import { expect, it } from 'vitest';
import { fold, groupByPerson } from './fold.ts';
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

// Regression: a record that an operator wrote to the wrong partition of events.raw blocked its
// partition, because the worker crashed at it after every restart.
it('an event of the wrong partition stays out of the profile and does not stop the worker', () => {
  const found = fold(groupByPerson([event(1, 0), event(2, 0), event(1, 1)]), [undefined]);
  expect(found.misplaced).toHaveLength(1);
  expect(found.changed).toMatchObject([{ eventCount: 2, last: { partition: 1, offset: 1 } }]);
});
