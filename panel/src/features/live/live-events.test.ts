import { expect, it } from 'vitest';
import { mergeEvents, type LiveEvent } from './live-events.ts';

function event(id: string, second: number): LiveEvent {
  const received_at = `2026-11-23T10:00:${String(second).padStart(2, '0')}.000Z`;
  return {
    ...{ message_id: id, received_at, timestamp: received_at, type: 'track', event: 'e' },
    ...{ user_id: '', anonymous_id: '', source: 'sdk', library: '', properties: {} },
  };
}

it('an event that two answers have is shown once', () => {
  const shown = mergeEvents([], [event('b', 2), event('a', 1)]);
  expect(mergeEvents(shown, [event('b', 2)])).toBe(shown);
});

it('an event that is stored late is shown in its place', () => {
  const shown = mergeEvents([], [event('c', 3), event('a', 1)]);
  expect(mergeEvents(shown, [event('b', 2)]).map(({ message_id }) => message_id)).toEqual([
    ...['c', 'b', 'a'],
  ]);
});

it('events of one batch, which are received at once, are shown in their order', () => {
  const batch = ['a', 'b', 'c'].map((id, at) => ({
    ...event(id, 9),
    timestamp: event('', at).received_at,
  }));
  const shown = mergeEvents(
    [],
    [batch[1], batch[0], batch[2]].flatMap((one) => one ?? []),
  );
  expect(shown.map(({ message_id }) => message_id)).toEqual(['c', 'b', 'a']);
});

it('the page keeps a thousand events', () => {
  const many = Array.from({ length: 1500 }, (_, at) => event(String(at), at % 60));
  expect(mergeEvents([], many)).toHaveLength(1000);
});
