import { expect, it } from 'vitest';
import { exchangeState } from './table-ids.ts';

const swap = { exchanging: 'new1,new2', former: 'old1,old2' };

it('an exchange of two shards is not begun, half done or done, whichever shard was first', () => {
  expect(exchangeState('old1,old2', swap)).toBe('none');
  expect(exchangeState('new1,old2', swap)).toBe('partly');
  expect(exchangeState('old1,new2', swap)).toBe('partly');
  expect(exchangeState('new1,new2', swap)).toBe('whole');
});

it('the exchange of other tables, or of none, is not half done', () => {
  expect(exchangeState('new1,third2', swap)).toBe('none');
  expect(exchangeState('new1,old2', { exchanging: null, former: null })).toBe('none');
  expect(exchangeState(undefined, swap)).toBe('none');
  expect(exchangeState('old', { exchanging: 'new', former: 'old' })).toBe('none');
});
