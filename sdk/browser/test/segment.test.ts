import { describe, expect, it, vi } from 'vitest';
import { segmentAnalytics } from '../src/segment/segment.ts';
import type { Ravand } from '../src/types.ts';

/** The calls that the adapter makes. */
function recorded() {
  const calls: unknown[][] = [];
  const record =
    (name: string) =>
    (...given: unknown[]) => {
      calls.push([name, ...given]);
      return 'id';
    };
  const names = ['track', 'identify', 'page', 'screen', 'alias', 'reset'];
  const ravand = {
    ...Object.fromEntries(names.map((name) => [name, record(name)])),
    userId: () => undefined,
    anonymousId: () => 'visitor',
  } as unknown as Ravand;
  return { analytics: segmentAnalytics(ravand), calls };
}

describe('a call of analytics.js', () => {
  it.each<[string, unknown[], unknown[]]>([
    ['track', ['e'], ['track', 'e', undefined, {}]],
    ['track', ['e', { a: 1 }], ['track', 'e', { a: 1 }, {}]],
    [
      'track',
      ['e', { a: 1 }, { timestamp: 5, messageId: 'm', context: { ip: 'x' }, integrations: {} }],
      ['track', 'e', { a: 1 }, { timestamp: 5, message_id: 'm', context: { ip: 'x' } }],
    ],
    ['track', ['e', null, { messageId: 'm' }], ['track', 'e', undefined, { message_id: 'm' }]],
    ['identify', ['u', { a: 1 }], ['identify', 'u', { a: 1 }, {}]],
    ['identify', [{ a: 1 }], ['identify', '', { a: 1 }, {}]],
    ['identify', [null, { a: 1 }], ['identify', '', { a: 1 }, {}]],
    ['page', [], ['page', undefined, {}, {}]],
    ['page', ['Pricing'], ['page', 'Pricing', {}, {}]],
    ['page', ['Docs', 'Pricing'], ['page', 'Pricing', { category: 'Docs' }, {}]],
    ['page', ['Docs', 'P', { a: 1 }], ['page', 'P', { category: 'Docs', a: 1 }, {}]],
    ['page', [{ a: 1 }], ['page', undefined, { a: 1 }, {}]],
    ['screen', ['Home', { a: 1 }], ['screen', 'Home', { a: 1 }, {}]],
    ['alias', ['u'], ['alias', 'u', undefined, {}]],
    ['alias', ['u', 'before'], ['alias', 'u', 'before', {}]],
    ['reset', [], ['reset']],
  ])('%s %j', (name, given, expected) => {
    const { analytics, calls } = recorded();
    const methods = analytics as unknown as Record<string, (...given: unknown[]) => void>;
    methods[name]?.(...given);
    expect(calls).toEqual([expected]);
  });

  it('calls back, wherever the callback stands', () => {
    const { analytics, calls } = recorded();
    const callback = vi.fn();
    analytics.track('e', callback);
    analytics.track('e', {}, {}, callback);
    analytics.identify('u', callback);
    analytics.page(callback);
    analytics.alias('u', callback);
    analytics.group('g', {}, callback);
    expect(callback).toHaveBeenCalledTimes(6);
    expect(calls).toHaveLength(5);
  });

  it('tells who the visitor is', () => {
    const user = recorded().analytics.user();
    expect([user.id(), user.anonymousId()]).toEqual([null, 'visitor']);
  });
});
