import { expect, it } from 'vitest';
import { positionKey, storedItemsLoader, type RawRecordPosition } from './stored-items.ts';

it('a thousand dead letters that ask together cost one query', async () => {
  let queries = 0;
  const ask = storedItemsLoader((positions) => {
    queries++;
    return Promise.resolve(new Map(positions.map((one) => [positionKey(one), [one.offset % 7]])));
  });
  const at = (offset: number): RawRecordPosition => ({
    ...{ accountId: 1, receivedAt: 5, epoch: 0, partition: 2, offset },
  });
  const offsets = Array.from({ length: 1000 }, (_, offset) => offset);
  const answers = await Promise.all(offsets.map((offset) => ask(at(offset))));
  expect(answers).toEqual(offsets.map((offset) => [offset % 7]));
  expect(queries).toBe(1);
  expect(await ask(at(3))).toEqual([3]);
  expect(queries).toBe(2);
});
