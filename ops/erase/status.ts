import { print } from '../../cli/terminal.ts';
import type { ErasureRow, ErasureState } from './erasure-row.ts';
import type { ErasureStore } from './erasure-store.ts';

/** The raw log may hold an erased person so long, days (docs/erasure.md). */
const REWRITE_WITHIN_DAYS = 30;
const DAY = 86_400_000;

const WAITS_FOR: Record<ErasureState, string> = {
  requested: 'continue it: its cut is not in the log',
  recorded: 'continue it: readers have not passed its cut',
  enforced: 'continue it: stores still hold the person',
  removed: 'the log still holds the person: ./ravand erase rewrite',
  rewritten: 'verify it: ./ravand erase verify',
};

export function erasureJson(erasure: ErasureRow) {
  const { id, accountId, state, hashes, removed, requestedAt, verifiedAt } = erasure;
  return {
    id,
    account_id: accountId,
    state,
    names: hashes.length,
    removed,
    requested_at: new Date(requestedAt).toISOString(),
    verified_at: verifiedAt === undefined ? null : new Date(verifiedAt).toISOString(),
  };
}

export function statusLines(erasures: readonly ErasureRow[]): string[] {
  return erasures.map((erasure) => {
    const { id, accountId, state, hashes, removed, age, verifiedAt } = erasure;
    const counts = Object.entries(removed).map(([store, count]) => `${count} ${store}`);
    const days = Math.floor(age / DAY);
    const isLate = state !== 'rewritten' && days >= REWRITE_WITHIN_DAYS;
    const next = verifiedAt === undefined ? WAITS_FOR[state] : 'complete';
    return (
      `erasure ${id}  account ${accountId}  ${state}  ${days} days  ${hashes.length} names` +
      `${counts.length === 0 ? '' : `  (${counts.join(', ')})`}  ${isLate ? 'LATE: ' : ''}${next}`
    );
  });
}

/** Prints every erasure; 1 when one is not complete after 30 days. */
export async function showStatus(
  store: ErasureStore,
  { json }: { json: boolean },
): Promise<number> {
  const erasures = await store.all();
  if (json) print(JSON.stringify({ erasures: erasures.map(erasureJson) }));
  else if (erasures.length === 0) print('nobody was erased');
  else for (const line of statusLines(erasures)) print(line);
  return erasures.some(
    ({ state, age }) => state !== 'rewritten' && age >= REWRITE_WITHIN_DAYS * DAY,
  )
    ? 1
    : 0;
}
