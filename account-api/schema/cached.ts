import { BoundedMap } from '../../platform/bounded-map.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { ReadSchema, SchemaQuery } from './queries.ts';

/** How old a list may be, ms. */
const FRESH_MS = 60_000;
/** Lists in memory; the queries bound each of them to about a megabyte. */
const MAX_LISTS = 64;
/** Time of one query, ms (management 8.4): more than one client may wait for it. */
const QUERY_MS = 30_000;

/**
 * The same lists, read at most once a minute for each account however many clients ask: one that
 * comes while the query runs waits for its answer. A failed query is not kept.
 */
export function cachedSchema(schema: ReadSchema): ReadSchema {
  return {
    events: onceAMinute((query) => schema.events(query)),
    traits: onceAMinute((query) => schema.traits(query)),
  };
}

interface Entry<List> {
  /** ms since the epoch. */
  readAt: number;
  list: Promise<List>;
}

function onceAMinute<List>(
  read: (query: SchemaQuery) => Promise<List>,
): (query: SchemaQuery) => Promise<List> {
  const entries = new BoundedMap<number, Entry<List>>(MAX_LISTS);
  return ({ accountId, now, signal }) => {
    const known = entries.get(accountId);
    if (known && now - known.readAt < FRESH_MS) return unlessAborted(known.list, signal);
    // the query outlives the client that caused it: others may wait for the same answer
    const list = withDeadline(
      { ms: QUERY_MS, waitingFor: 'a list of the schema' },
      read({ accountId, now, signal: AbortSignal.timeout(QUERY_MS) }),
    );
    const entry = { readAt: now, list };
    entries.set(accountId, entry);
    list.catch(() => {
      if (entries.get(accountId) === entry) entries.delete(accountId);
    });
    return unlessAborted(list, signal);
  };
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let leave: (() => void) | undefined;
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason as Error);
    signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([work, left]);
  } finally {
    if (leave) signal.removeEventListener('abort', leave);
  }
}
