import { expect, test } from 'vitest';
import { compileSelection } from './match.ts';

const event = {
  event: 'order_completed',
  received_at: 1000,
  properties: { total: '12' },
  property_numbers: { total: 12 },
};
const all = { events: [], filters: [], activeSince: 0 };

test('an empty list of names matches every event (ingest 6.2)', () => {
  expect(compileSelection(all)(event)).toBe(true);
  expect(compileSelection({ ...all, events: ['order_completed', 'x'] })(event)).toBe(true);
  expect(compileSelection({ ...all, events: ['order_completed2'] })(event)).toBe(false);
});

test('an event must match both the names and the filters', () => {
  const filters = [{ prop: 'total', op: 'gt', value: 12 }] as const;
  expect(compileSelection({ ...all, filters })(event)).toBe(false);
  expect(compileSelection({ ...all, filters })({ ...event, property_numbers: { total: 13 } })).toBe(
    true,
  );
  expect(
    compileSelection({ ...all, events: ['x'], filters })({
      ...event,
      property_numbers: { total: 13 },
    }),
  ).toBe(false);
});

test('an event that was accepted before the relay was active does not match', () => {
  expect(compileSelection({ ...all, activeSince: 1000 })(event)).toBe(true);
  expect(compileSelection({ ...all, activeSince: 1001 })(event)).toBe(false);
});
