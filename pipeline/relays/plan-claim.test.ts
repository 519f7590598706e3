import { describe, expect, test } from 'vitest';
import {
  inTurns,
  planClaim,
  type DueRow,
  type AvailableEndpoint,
  type Room,
} from './plan-claim.ts';

const WIDE: Room = { rows: 100, bytes: 1000, others: 100 };

/** A endpoint of a quick endpoint; its account is the hundreds of its id. */
function endpoint(relayId: number, over: Partial<AvailableEndpoint> = {}): AvailableEndpoint {
  return { relayId, accountId: Math.floor(relayId / 100), isQuick: true, capacity: 16, ...over };
}

/** Due rows of a relay: ids are `relayId * 1000 + n`. */
function rows(relayId: number, count: number, bytes = 1): DueRow[] {
  return Array.from({ length: count }, (_, n) => ({ id: relayId * 1000 + n, relayId, bytes }));
}

function plan(
  endpoints: AvailableEndpoint[],
  due: DueRow[],
  { total = WIDE, account = WIDE }: { total?: Room; account?: Room } = {},
): number[] {
  return planClaim({ endpoints, due, total, ofAccount: () => account });
}

describe('a claim', () => {
  test('takes one row at a time by turns of the accounts, then of their endpoints', () => {
    const endpoints = [endpoint(101), endpoint(201), endpoint(102), endpoint(103)];
    const due = endpoints.flatMap(({ relayId }) => rows(relayId, 3));
    const total = { ...WIDE, rows: 6 };
    expect(plan(endpoints, due, { total })).toEqual([
      101000, 201000, 102000, 201001, 103000, 201002,
    ]);
  });

  test('takes no more rows of a endpoint than it can begin to attempt', () => {
    expect(plan([endpoint(101, { capacity: 2 })], rows(101, 5))).toEqual([101000, 101001]);
  });

  test('takes no more rows of endpoints that are not quick than permits are free for them', () => {
    const endpoints = [endpoint(101, { isQuick: false }), endpoint(201)];
    const due = [...rows(101, 5), ...rows(201, 3)];
    const total = { ...WIDE, others: 1 };
    expect(plan(endpoints, due, { total })).toEqual([101000, 201000, 201001, 201002]);
    expect(plan(endpoints, due, { account: total })).toEqual([101000, 201000, 201001, 201002]);
  });

  test('gives the share that an account does not use to the others', () => {
    const due = [...rows(101, 1), ...rows(201, 9)];
    expect(plan([endpoint(101), endpoint(201)], due, { total: { ...WIDE, rows: 5 } })).toHaveLength(
      5,
    );
  });

  test('ends when the bytes are used up, and takes a row that is larger than all of them', () => {
    const endpoints = [endpoint(101), endpoint(201)];
    const due = [...rows(101, 3, 400), ...rows(201, 3, 400)];
    expect(plan(endpoints, due)).toEqual([101000, 201000, 101001]);
    expect(plan(endpoints, rows(101, 2, 5000))).toEqual([101000]);
    expect(plan(endpoints, due, { account: { ...WIDE, bytes: 1 } })).toEqual([101000, 201000]);
    expect(plan(endpoints, due, { total: { ...WIDE, bytes: 0 } })).toEqual([]);
  });
});

describe('the endpoints of a claim', () => {
  test('alternate between accounts, beginning with another one at each turn', () => {
    const endpoints = [endpoint(101), endpoint(102), endpoint(201), endpoint(301)];
    const ids = (turn: number) => inTurns(endpoints, turn).map(({ relayId }) => relayId);
    expect(ids(0)).toEqual([101, 201, 301, 102]);
    expect(ids(1)).toEqual([201, 301, 102, 101]);
    expect(ids(2)).toEqual([301, 101, 201, 102]);
    expect(inTurns([], 3)).toEqual([]);
  });
});
