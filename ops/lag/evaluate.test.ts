import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  groupLags,
  partitionLags,
  positionKey,
  secondsToCatchUp,
  type OffsetSnapshot,
  type GroupOffset,
} from './evaluate.ts';

const groupOffset = (changes: Partial<GroupOffset> = {}): GroupOffset => ({
  group: 'g',
  topic: 't',
  partition: 0,
  low: 0,
  end: 100,
  position: 40,
  ...changes,
});
const snapshot = (at: number, ...offsets: GroupOffset[]): OffsetSnapshot => ({ at, offsets });
const measure = (
  before: OffsetSnapshot,
  now: OffsetSnapshot,
  more: { appended?: [number, number][]; retention?: number } = {},
) =>
  partitionLags({
    before,
    now,
    appended: new Map(
      (more.appended ?? []).map(([offset, at]) => [
        positionKey({ topic: 't', partition: 0, offset }),
        at,
      ]),
    ),
    retention: new Map([['t', more.retention ?? 0]]),
  });

describe('the lag of a consumer group', () => {
  it('shows the unread records, their age, the rates and the time to catch up', () => {
    const [lag] = measure(
      snapshot(10_000, groupOffset({ end: 90, position: 20 })),
      snapshot(12_000, groupOffset()),
      { appended: [[40, 7000]] },
    );
    expect(lag).toMatchObject({
      records: 60,
      age: 5000,
      readRate: 10,
      appendRate: 5,
      catchUpSeconds: 12,
      missed: 0,
      warning: undefined,
    });
  });

  it('is zero when the group has read everything, however old its records are', () => {
    const [lag] = measure(
      snapshot(0, groupOffset()),
      snapshot(1000, groupOffset({ position: 100 })),
    );
    expect(lag).toMatchObject({ records: 0, age: 0, catchUpSeconds: 0, readRate: 60 });
  });

  it('counts from the first retained record for a group that never committed', () => {
    const [lag] = measure(
      snapshot(0, groupOffset({ position: undefined, low: 30 })),
      snapshot(1000, groupOffset({ position: undefined, low: 30 })),
      {
        appended: [[30, 400]],
      },
    );
    expect(lag).toMatchObject({
      records: 70,
      age: 600,
      readRate: 0,
      missed: 0,
      catchUpSeconds: undefined,
    });
  });

  it('reports the records that left the log unread', () => {
    const [lag] = measure(snapshot(0, groupOffset()), snapshot(1000, groupOffset({ low: 55 })));
    expect(lag).toMatchObject({ records: 45, missed: 15, age: undefined });
    expect(lag?.warning).toContain('15 records left the log');
  });

  it('warns from half of the retention on, and never when retention is unlimited', () => {
    const at = (age: number, retention: number) =>
      measure(snapshot(0, groupOffset()), snapshot(100_000, groupOffset()), {
        appended: [[40, 100_000 - age]],
        retention,
      })[0];
    expect(at(499, 1000)?.warning).toBeUndefined();
    expect(at(500, 1000)?.warning).toContain('50%');
    expect(at(90_000, 0)).toMatchObject({ warning: undefined, retentionUsed: undefined });
  });

  it('has no catch-up time when records are appended as fast as they are read', () => {
    expect(secondsToCatchUp({ records: 10, readRate: 5, appendRate: 5 })).toBeUndefined();
    expect(secondsToCatchUp({ records: 10, readRate: 6, appendRate: 5 })).toBe(10);
    expect(secondsToCatchUp({ records: 0, readRate: 0, appendRate: 5 })).toBe(0);
  });

  it('sums the partitions of a group, with the age and catch-up time of the worst one', () => {
    const before = snapshot(
      0,
      groupOffset({ position: 0 }),
      groupOffset({ partition: 1, position: 90 }),
      groupOffset({ group: 'h', partition: 1, position: 100 }),
    );
    const now = snapshot(
      1000,
      groupOffset(),
      groupOffset({ partition: 1, position: 95 }),
      groupOffset({ group: 'h', partition: 1, position: 100 }),
    );
    const [g, h] = groupLags(measure(before, now, { appended: [[40, 300]] }));
    expect(g).toMatchObject({
      group: 'g',
      partition: undefined,
      records: 65,
      readRate: 45,
      position: 135,
      age: undefined,
      catchUpSeconds: 1.5,
    });
    expect(h).toMatchObject({ group: 'h', records: 0, age: 0 });
  });

  it('is never negative, whatever the watermarks and the commits are', () => {
    const any = fc.record({
      low: fc.nat(100),
      more: fc.nat(100),
      position: fc.option(fc.nat(300), { nil: undefined }),
    });
    fc.assert(
      fc.property(any, any, (a, b) => {
        const of = ({
          low,
          more,
          position,
        }: {
          low: number;
          more: number;
          position: number | undefined;
        }) => groupOffset({ low, end: low + more, position });
        const [lag] = measure(snapshot(0, of(a)), snapshot(1000, of(b)));
        expect(
          lag &&
            [lag.records, lag.missed, lag.readRate, lag.appendRate, lag.age ?? 0].every(
              (value) => value >= 0,
            ),
        ).toBe(true);
      }),
    );
  });
});
