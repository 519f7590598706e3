import type { SdkBalance } from '../schemas/records.ts';
import { truncateBytes } from './bytes.ts';
import { isJsonObject } from './json.ts';

const MAX_LIBRARY_BYTES = 64;
const MAX_VERSION_BYTES = 32;
const CLIENT = /^[\w.-]{1,64}$/;
const CAUSE = /^\w{1,64}$/;
/** Further causes, and those that are no words, are counted together. */
const MAX_CAUSES = 16;
const OTHER = 'other';

/**
 * The balance that an SDK reports in `context.library` of a batch; undefined for one that reports
 * none, or nonsense: nobody is refused for it. Bounded, whatever a client sends.
 */
export function balanceOf(context: unknown): SdkBalance | undefined {
  const library = isJsonObject(context) ? context['library'] : undefined;
  if (!isJsonObject(library)) return undefined;
  const { name, version, client, balance } = library;
  if (typeof name !== 'string' || name === '' || !isJsonObject(balance)) return undefined;
  if (typeof client !== 'string' || !CLIENT.test(client)) return undefined;
  const { made, stored, sent, dropped } = balance;
  if (!isCount(made) || !isCount(stored) || !isCount(sent)) return undefined;
  return {
    library: truncateBytes(name, MAX_LIBRARY_BYTES),
    version: typeof version === 'string' ? truncateBytes(version, MAX_VERSION_BYTES) : '',
    ...{ client, made, stored, sent },
    dropped: isJsonObject(dropped) ? readDropped(dropped) : [],
  };
}

function readDropped(dropped: Record<string, unknown>): SdkBalance['dropped'] {
  const counts = new Map<string, number>();
  for (const cause in dropped) {
    const count = dropped[cause];
    if (!isCount(count) || count === 0) continue;
    const isOwn = CAUSE.test(cause) && (counts.size < MAX_CAUSES || counts.has(cause));
    const key = isOwn ? cause : OTHER;
    counts.set(key, Math.min(Number.MAX_SAFE_INTEGER, (counts.get(key) ?? 0) + count));
  }
  return [...counts].map(([cause, count]) => ({ cause, count }));
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;
