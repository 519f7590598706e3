import { describe, expect, it } from 'vitest';
import { cachedSchema } from './cached.ts';
import type { ReadSchema, SchemaQuery, TraitName } from './queries.ts';

const NOW = Date.UTC(2026, 10, 22);
const TRAITS: TraitName[] = [{ name: 'tier', kind: 'string', users: 3 }];

interface Asked {
  query: SchemaQuery;
  answer: (traits: TraitName[]) => void;
  fail: (error: Error) => void;
}

/** A catalogue that answers when the test says so. */
function slowCatalogue() {
  const asked: Asked[] = [];
  const schema: ReadSchema = {
    events: () => Promise.resolve([]),
    traits: (query) =>
      new Promise((answer, fail) => {
        asked.push({ query, answer, fail });
      }),
  };
  const cached = cachedSchema(schema);
  const ask = (accountId: number, { now = NOW, signal = new AbortController().signal } = {}) =>
    cached.traits({ accountId, now, signal });
  return { asked, ask };
}

describe('the lists of the schema', () => {
  it('are read once for all clients of an account that ask at the same time', async () => {
    const { asked, ask } = slowCatalogue();
    const answers = Array.from({ length: 50 }, () => ask(1));
    const other = ask(2);
    expect(asked.map(({ query }) => query.accountId)).toEqual([1, 2]);
    for (const { answer } of asked) answer(TRAITS);
    expect(await Promise.all([...answers, other])).toEqual(Array(51).fill(TRAITS));
  });

  it('are read again when they are a minute old', async () => {
    const { asked, ask } = slowCatalogue();
    const first = ask(1);
    asked[0]?.answer(TRAITS);
    await first;
    await ask(1, { now: NOW + 59_999 });
    expect(asked).toHaveLength(1);
    void ask(1, { now: NOW + 60_000 });
    expect(asked).toHaveLength(2);
  });

  it('are read again after a failure', async () => {
    const { asked, ask } = slowCatalogue();
    const first = ask(1);
    asked[0]?.fail(new Error('ClickHouse is down'));
    await expect(first).rejects.toThrow('ClickHouse is down');
    void ask(1);
    expect(asked).toHaveLength(2);
  });

  it('reach the clients that wait when the one that caused the query has left', async () => {
    const { asked, ask } = slowCatalogue();
    const leaving = new AbortController();
    const first = ask(1, { signal: leaving.signal });
    const second = ask(1);
    leaving.abort(new Error('the client closed the connection'));
    await expect(first).rejects.toThrow('the client closed the connection');
    expect(asked[0]?.query.signal.aborted).toBe(false);
    asked[0]?.answer(TRAITS);
    expect(await second).toEqual(TRAITS);
  });
});
