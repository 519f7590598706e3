import { idAt } from './clock.ts';
import { MAX_PAGES } from './limits.ts';
import * as storage from './storage.ts';
import { BOOKS, CLIENT } from './storage-keys.ts';
import type { Balance } from './types.ts';

// What happened to the calls of this browser. Each page counts in an entry of its own: no page
// writes what another one writes, and pages that died count, too.

type Counts = Record<string, number>;

const own = `${BOOKS}${Math.random()}`;

/** @param counts made, stored, sent, or the cause for which events were dropped */
export function count(counts: Counts): void {
  storage.set(own, sum([storage.read<Counts>(own) as Counts, counts]));
}

function sum(all: Counts[]): Counts {
  const total: Counts = {};
  for (const counts of all)
    for (const counter in counts)
      total[counter] = (total[counter] ?? 0) + (counts[counter] as number);
  return total;
}

export function balanceNow(): { client: string; balance: Balance } {
  const pages = storage.keys(BOOKS);
  const total = sum(pages.map(storage.read<Counts>) as Counts[]);
  if (pages.length > MAX_PAGES) {
    pages.forEach(storage.remove);
    storage.set(own, total);
  }
  const { made = 0, stored = 0, sent = 0, ...dropped } = total;
  const client = storage.get(CLIENT) ?? idAt(Date.now());
  storage.set(CLIENT, client);
  return { client, balance: { made, stored, sent, dropped } };
}
