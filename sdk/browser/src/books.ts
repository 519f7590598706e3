import { idAt } from './clock.ts';
import { idOf } from './identity.ts';
import { ENDED_MS, MAX_ENTRIES, PERIOD_DIGITS } from './limits.ts';
import * as storage from './storage.ts';
import { BOOKS, CLIENT, SUM } from './storage-keys.ts';
import type { Balance } from './types.ts';

// What happened to the calls of this browser. Each page counts in entries of its own, one for each
// period: no page writes what another one writes, an entry does not change after its period, and
// pages that were killed count, too. A sum stands for all entries that are sorted before it. It is
// made of entries that do not change any more, so that pages which make it at the same time make
// the same one, and they are removed when it is there.

type Counts = Record<string, number>;

/** The random part of an id is what tells pages apart. */
const page = idAt(0);
/** How the keys of a period begin. */
const periodOf = (ms: number) => `${BOOKS}${ms}`.slice(0, PERIOD_DIGITS);

/** @param counts made, stored, sent, or the cause for which events were dropped */
export function count(counts: Counts): void {
  const own = periodOf(Date.now()) + page;
  storage.set(own, add([own], counts));
}

/** @param keys of entries, in order */
function add(keys: string[], total: Counts = {}): Counts {
  keys.forEach((key) => {
    if (key.at(-1) === SUM) total = {};
    const counts = storage.read<Counts>(key);
    for (const counter in counts)
      total[counter] = (counts[counter] as number) + (total[counter] ?? 0);
  });
  return total;
}

export function balanceNow(): { client: string; balance: Balance } {
  const entries = storage.keys(BOOKS);
  const { made = 0, stored = 0, sent = 0, ...dropped } = add(entries);
  const sum = periodOf(Date.now() - ENDED_MS) + SUM;
  const ended = entries.filter((key) => key < sum);
  // One that is only in memory would end with the page.
  if (ended[MAX_ENTRIES] && !storage.get(sum) && storage.set(sum, add(ended)))
    ended.forEach(storage.remove);
  return { client: idOf(CLIENT), balance: { made, stored, sent, dropped } };
}
