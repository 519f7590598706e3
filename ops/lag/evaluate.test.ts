import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  groupLags,
  partitionLags,
  positionKey,
  timeToCatchUp,
  type Look,
  type GroupOffset,
} from './evaluate.ts';

const standing = (changes: Partial<GroupOffset> = {}): GroupOffset => ({
  group: 'g',
  topic: 't',
  partition: 0,
  low: 0,
  end: 100,
  position: 40,
  ...changes,
});
const look = (at: number, ...standings: GroupOffset[]): Look => ({ at, standings });
const measure = (
  before: Look,
  now: Look,
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

describe('lag', () => {
  it('is what is unread, since when, how fast it is read and when it will be', () => {
    const [lag] = measure(
      look(10_000, standing({ end: 90, position: 20 })),
      look(12_000, standing()),
      { appended: [[40, 7000]] },
    );
    expect(lag).toMatchObject({
      records: 60,
      age: 5000,
      rate: 10,
      arriving: 5,
      catchUp: 12,
      missed: 0,
      warning: undefined,
    });
  });

  it('of a group that has read all is nothing, whatever its records are old', () => {
    const [lag] = measure(look(0, standing()), look(1000, standing({ position: 100 })));
    expect(lag).toMatchObject({ records: 0, age: 0, catchUp: 0, rate: 60 });
  });

  it('of a group that never committed counts from the first record that is kept', () => {
    const [lag] = measure(
      look(0, standing({ position: undefined, low: 30 })),
      look(1000, standing({ position: undefined, low: 30 })),
      {
        appended: [[30, 400]],
      },
    );
    expect(lag).toMatchObject({ records: 70, age: 600, rate: 0, missed: 0, catchUp: undefined });
  });

  it('names what left the log unread', () => {
    const [lag] = measure(look(0, standing()), look(1000, standing({ low: 55 })));
    expect(lag).toMatchObject({ records: 45, missed: 15, age: undefined });
    expect(lag?.warning).toContain('15 records left the log');
  });

  it('warns from half of the retention on, and never where records are kept for ever', () => {
    const at = (age: number, retention: number) =>
      measure(look(0, standing()), look(100_000, standing()), {
        appended: [[40, 100_000 - age]],
        retention,
      })[0];
    expect(at(499, 1000)?.warning).toBeUndefined();
    expect(at(500, 1000)?.warning).toContain('50%');
    expect(at(90_000, 0)).toMatchObject({ warning: undefined, retentionUsed: undefined });
  });

  it('is never caught up with when records come as fast as they are read', () => {
    expect(timeToCatchUp({ records: 10, rate: 5, arriving: 5 })).toBeUndefined();
    expect(timeToCatchUp({ records: 10, rate: 6, arriving: 5 })).toBe(10);
    expect(timeToCatchUp({ records: 0, rate: 0, arriving: 5 })).toBe(0);
  });

  it('of a group adds up its partitions, and is as old and as slow as the worst of them', () => {
    const before = look(
      0,
      standing({ position: 0 }),
      standing({ partition: 1, position: 90 }),
      standing({ group: 'h', partition: 1, position: 100 }),
    );
    const now = look(
      1000,
      standing(),
      standing({ partition: 1, position: 95 }),
      standing({ group: 'h', partition: 1, position: 100 }),
    );
    const [g, h] = groupLags(measure(before, now, { appended: [[40, 300]] }));
    expect(g).toMatchObject({
      group: 'g',
      partition: undefined,
      records: 65,
      rate: 45,
      position: 135,
      age: undefined,
      catchUp: 1.5,
    });
    expect(h).toMatchObject({ group: 'h', records: 0, age: 0 });
  });

  it('never is negative, whatever the log and the commits say', () => {
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
        }) => standing({ low, end: low + more, position });
        const [lag] = measure(look(0, of(a)), look(1000, of(b)));
        expect(
          lag &&
            [lag.records, lag.missed, lag.rate, lag.arriving, lag.age ?? 0].every(
              (value) => value >= 0,
            ),
        ).toBe(true);
      }),
    );
  });
});
