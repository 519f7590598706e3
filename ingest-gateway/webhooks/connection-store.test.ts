import { expect, it } from 'vitest';
import { connectConnectionStore } from './connection-store.ts';

it('counters are written in the order of their ids, which two gateways lock in the same order', async () => {
  const asked: { text: string; values: unknown[][] }[] = [];
  const query = (text: string, values: unknown[][]) => {
    asked.push({ text, values });
    return Promise.resolve({ rows: [] });
  };
  const one = { received: 1, accepted: 1, rejected: 0, lastError: '' };
  await connectConnectionStore({ query: query as never }).add(
    new Map([30, 4, 100].map((id) => [id, { ...one, received: id }])),
  );
  expect(asked[0]?.values.slice(0, 2)).toEqual([
    [4, 30, 100],
    [4, 30, 100],
  ]);
  expect(asked[0]?.text).toMatch(/ORDER BY id FOR NO KEY UPDATE\)\s+UPDATE/);
});
