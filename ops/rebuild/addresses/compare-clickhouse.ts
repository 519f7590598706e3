import type { ClickHouseClient } from '@clickhouse/client';
import { delay } from '../../../platform/backoff.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { publishTouched } from '../../../projections/addresses/publish-states.ts';
import type { TableComparison } from '../compare.ts';
import {
  type ClickhouseAddresses,
  PAGE,
  storedAfter,
  storedStates,
  textOf,
  type AddressKey,
  type States,
} from './clickhouse-addresses.ts';

interface Stores {
  database: Pick<Database, 'query'>;
  clickhouse: Pick<ClickHouseClient, 'insert'>;
  /** CLICKHOUSE_CLUSTER */
  cluster: string;
  addresses: Pick<ClickhouseAddresses, 'states' | 'after' | 'remove'>;
}

interface CompareOptions {
  /** ClickHouse follows PostgreSQL: what differs is looked at again after this time, ms. */
  againAfter?: number;
  signal: AbortSignal;
  /** Called after each page. */
  onProgress: () => void;
}

const AGAIN_AFTER_MS = 3000;
const MAX_EXAMPLES = 10;
/** More differences than these are not looked at again. */
const MAX_CANDIDATES = 20_000;

/**
 * Compares ClickHouse's addresses with the states in PostgreSQL, page by page from both sides. What
 * is the same a moment later has moved on.
 */
export async function compareClickhouse(
  stores: Stores,
  { againAfter = AGAIN_AFTER_MS, signal, onProgress }: CompareOptions,
): Promise<TableComparison> {
  const found = new Map<string, AddressKey>();
  const counts = { live: 0, rebuilt: 0, beyond: 0 };
  for await (const page of differences(stores, counts)) {
    signal.throwIfAborted();
    onProgress();
    for (const key of page)
      if (found.size < MAX_CANDIDATES) found.set(textOf(key), key);
      else counts.beyond++;
  }
  if (found.size > 0) await delay(againAfter, signal);
  const left: AddressKey[] = [];
  const keys = [...found.values()];
  for (let from = 0; from < keys.length; from += PAGE) {
    left.push(...(await differing(stores, keys.slice(from, from + PAGE))));
    onProgress();
  }
  const compared = Math.max(counts.live, counts.rebuilt);
  const differs = left.length + counts.beyond;
  return {
    ...{ live: counts.live, rebuilt: counts.rebuilt, compared },
    ...{ equal: Math.max(0, compared - found.size - counts.beyond) },
    ...{ moved_on: found.size - left.length, differing: differs },
    examples: left.slice(0, MAX_EXAMPLES).map((key) => ({
      what: `addresses ${textOf(key)}`,
      state: 'differs' as const,
    })),
  };
}

/**
 * Writes the states that ClickHouse lacks, and removes addresses that PostgreSQL does not have. The
 * service that writes them must be stopped.
 */
export async function repairClickhouse(
  stores: Stores,
  { signal, onProgress }: Pick<CompareOptions, 'signal' | 'onProgress'>,
): Promise<number> {
  const { database, addresses } = stores;
  let repaired = 0;
  for await (const page of differences(stores, { live: 0, rebuilt: 0 })) {
    signal.throwIfAborted();
    onProgress();
    const states = await storedStates(database, page);
    const known = page.filter((key) => states.has(textOf(key)));
    await publishTouched(stores, { addresses: known, users: [], tokens: [] });
    await addresses.remove(page.filter((key) => !states.has(textOf(key))));
    repaired += page.length;
  }
  return repaired;
}

/** Pages of what differs: seen from PostgreSQL, then what only ClickHouse has. */
async function* differences(
  { database, addresses }: Stores,
  counts: { live: number; rebuilt: number },
): AsyncGenerator<AddressKey[]> {
  for (let last: AddressKey | undefined; ;) {
    const { keys, states } = await storedAfter(database, last);
    counts.rebuilt += keys.length;
    yield unequal(keys, states, await addresses.states(keys));
    if (keys.length < PAGE) break;
    last = keys.at(-1);
  }
  for (let last: AddressKey | undefined; ;) {
    const keys = await addresses.after(last);
    counts.live += keys.length;
    const states = await storedStates(database, keys);
    yield keys.filter((key) => !states.has(textOf(key)));
    if (keys.length < PAGE) break;
    last = keys.at(-1);
  }
}

async function differing(stores: Stores, keys: readonly AddressKey[]): Promise<AddressKey[]> {
  const { database, addresses } = stores;
  return unequal(keys, await storedStates(database, keys), await addresses.states(keys));
}

function unequal(keys: readonly AddressKey[], one: States, other: States): AddressKey[] {
  return keys.filter((key) => one.get(textOf(key)) !== other.get(textOf(key)));
}
