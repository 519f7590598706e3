import { expect, it } from 'vitest';
import { addedRow, FIRST_ADDED_CHUNK } from './added.ts';
import { CHUNK_RECORDS } from './count.ts';

const EVENT = {
  _epoch: 0,
  _partition: 3,
  _offset: 41,
  _index: 2,
  account_id: 7,
  event: 'x',
  timestamp: Date.UTC(2026, 10, 20, 21),
  properties: { b: '1', a: '2' },
};

it('an event that a replay added has a row of its own, outside the chunks of the log', () => {
  expect(addedRow(EVENT)).toMatchObject({
    account_id: 7,
    day: '2026-11-21',
    event: 'x',
    _partition: 3,
    count: 1,
    version: 1,
    prop_keys: ['a', 'b'],
    last_seen: EVENT.timestamp,
  });
  const chunks = [
    [0, 0],
    [0, 1],
    [1, 0],
    [2 ** 43, 499],
    [2 ** 43, 500],
  ].map(([offset = 0, index = 0]) => addedRow({ ...EVENT, _offset: offset, _index: index }).chunk);
  expect(new Set(chunks).size).toBe(chunks.length);
  for (const chunk of chunks)
    expect(BigInt(chunk)).toBeGreaterThanOrEqual(BigInt(FIRST_ADDED_CHUNK));
  expect(2 ** 43 / CHUNK_RECORDS).toBeLessThan(FIRST_ADDED_CHUNK);
});
