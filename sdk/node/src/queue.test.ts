import { expect, it } from 'vitest';
import { Queue, type Waiting } from './queue.ts';

const HOUR = 3_600_000;
const event = (id: string, attemptedAt?: number): Waiting => ({
  id,
  json: `{"id":"${id}"}`,
  attemptedAt,
});
const idsOf = (events: readonly Waiting[]) => events.map(({ id }) => id);

it('a full queue gives up its oldest event', () => {
  const queue = new Queue(2, {});
  expect(queue.push(event('a'))).toBeUndefined();
  expect(queue.push(event('b'))).toBeUndefined();
  expect(queue.push(event('c'))?.id).toBe('a');
  expect(idsOf(queue.next(10, 1000))).toEqual(['b', 'c']);
});

it('a batch has the oldest events, within both bounds, and at least one', () => {
  const queue = new Queue(9, { found: ['a', 'b', 'c'].map((id) => event(id)) });
  expect(idsOf(queue.next(2, 1000))).toEqual(['a', 'b']);
  expect(idsOf(queue.next(9, 22))).toEqual(['a', 'b']);
  expect(idsOf(queue.next(9, 1))).toEqual(['a']);
});

it('an event is removed once, however often it is reported', () => {
  const one = event('a');
  const queue = new Queue(9, { found: [one] });
  expect([queue.remove([one]).length, queue.remove([one]).length, queue.size]).toEqual([1, 0, 0]);
});

it('what was sent 47 hours ago is given up, and what was never sent is not', async () => {
  const queue = new Queue(9, { found: [event('old', 0), event('new')] });
  await queue.attempted([...queue.next(9, 1000)], 5);
  expect(idsOf(queue.removeUnknown(47 * HOUR))).toEqual([]);
  expect(idsOf(queue.removeUnknown(47 * HOUR + 1))).toEqual(['old']);
  expect(idsOf(queue.removeUnknown(47 * HOUR + 6))).toEqual(['new']);
});
