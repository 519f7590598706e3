import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog } from '../log.ts';
import { KafkaError } from './consumer-client.ts';
import { keepMembership } from './keep-membership.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ended = () => new KafkaError(Object.assign(new Error('Local: Fatal error'), { code: -150 }));

/** Memberships of which each ends as one of `ends`: after so many ms, with an error or without. */
function memberships(ends: readonly [ms: number, error?: Error][], instanceId = 'sink-1') {
  const closing = new AbortController();
  let begun = 0;
  const membership = async () => {
    const [ms, error] = ends[begun++] ?? [0];
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (error) throw error;
  };
  const keeping = keepMembership(
    {
      ...{ log: createLog({ part: 'test', level: 'silent' }), topic: 'events.raw' },
      ...{ groupId: 'sink', instanceId, closing: closing.signal },
    },
    membership,
  );
  return { keeping, closing, begun: () => begun };
}

test('a membership that has ended is followed by another one, up to three times a minute', async () => {
  const { keeping, begun } = memberships([[10, ended()], [10, ended()], [10, ended()], [10]]);
  await vi.advanceTimersByTimeAsync(20_000);
  await keeping;
  expect(begun()).toBe(4);
});

test('the fourth end within a minute is the last, and names the setting', async () => {
  const four = Array.from({ length: 4 }, (): [number, Error] => [10, ended()]);
  for (const [instanceId, advice] of [
    ['sink-1', 'name sink-1? KAFKA_INSTANCE_ID must be unique'],
    ['', 'check the brokers'],
  ] as const) {
    const { keeping, begun } = memberships(four, instanceId);
    const failed = expect(keeping).rejects.toThrow(advice);
    await vi.advanceTimersByTimeAsync(20_000);
    await failed;
    expect(begun()).toBe(4);
  }
});

test('ends of more than a minute ago do not count', async () => {
  const often = Array.from({ length: 9 }, (): [number, Error] => [21_000, ended()]);
  const { keeping, begun } = memberships([...often, [10]]);
  await vi.advanceTimersByTimeAsync(400_000);
  await keeping;
  expect(begun()).toBe(10);
});

test('any other error, and an end while it closes, is passed on', async () => {
  const other = memberships([[10, new Error('unexpected')]]);
  const failed = expect(other.keeping).rejects.toThrow('unexpected');
  await vi.advanceTimersByTimeAsync(10);
  await failed;
  const closed = memberships([[10, ended()]]);
  const passed = expect(closed.keeping).rejects.toThrow('Fatal');
  closed.closing.abort(new Error('closing'));
  await vi.advanceTimersByTimeAsync(10);
  await passed;
  expect([other.begun(), closed.begun()]).toEqual([1, 1]);
});
