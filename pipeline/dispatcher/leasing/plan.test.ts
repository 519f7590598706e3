import { describe, expect, it } from 'vitest';
import { isPressed, planLeases, type ChannelLoad } from './plan.ts';

function channel(load: Partial<ChannelLoad> = {}): ChannelLoad {
  return { accountId: 1, channel: 'push', chunks: 0, phase: 'closed', hasRoom: true, ...load };
}

const freeOf = (loads: ChannelLoad[], slots = 16) =>
  planLeases(loads, { slots }).free.map(({ chunks }) => chunks);

describe('the plan of leases', () => {
  it('gives a channel one chunk more while that would send more', () => {
    expect(freeOf([channel({ chunks: 3 })])).toEqual([1]);
    expect(freeOf([channel({ chunks: 3, hasRoom: false })])).toEqual([0]);
    expect(freeOf([channel({ chunks: 0, hasRoom: false })])).toEqual([1]);
    expect(freeOf([channel({ chunks: 8 })], 100)).toEqual([0]);
  });

  it('gives a sender that cannot send none, and one that is tried again one', () => {
    const { free } = planLeases([channel({ phase: 'open' })], { slots: 16 });
    expect(free).toMatchObject([{ chunks: 0 }]);
    expect(freeOf([channel({ phase: 'half_open' })])).toEqual([1]);
    expect(freeOf([channel({ phase: 'half_open', chunks: 1 })])).toEqual([0]);
  });

  it('leaves half of the slots to other accounts', () => {
    const own = ['push', 'sms', 'email'].map((name) => channel({ channel: name, chunks: 4 }));
    expect(freeOf([...own, channel({ accountId: 2 })], 24)).toEqual([0, 0, 0, 1]);
    expect(freeOf([...own, channel({ accountId: 2 })], 32)).toEqual([1, 1, 1, 1]);
  });

  it('leases no more than there are slots', () => {
    expect(planLeases([channel({ chunks: 5 })], { slots: 16 }).max).toBe(11);
    expect(planLeases([channel({ chunks: 16 })], { slots: 16 }).max).toBe(0);
  });

  it('lets channels take turns when most slots are in use', () => {
    expect(isPressed(12, { slots: 16 })).toBe(false);
    expect(isPressed(13, { slots: 16 })).toBe(true);
  });
});
