import { GroupedCalls } from '../../platform/grouped-calls.ts';
import type { RecipientDeps } from './resolve-recipients.ts';
import { resolveMany } from './resolve-recipients.ts';
import type { Resolved, WantedRecipient } from './resolved.ts';

/**
 * Recipients that are looked up together, and groups of them at a time. ClickHouse needs some ms of
 * a core for a group, whether of one recipient or of many.
 */
const GROUP = { max: 100, concurrency: 2, intervalMs: 10 };
/** Longest look-up, ms. */
const LIMIT_MS = 8000;

/**
 * Looks up one recipient at a time for many callers: concurrent ones are a group, whichever account
 * and channel they are of.
 */
export function recipientResolver(
  deps: RecipientDeps,
): (recipient: WantedRecipient) => Promise<Resolved> {
  const group = new GroupedCalls<WantedRecipient, Resolved>({
    ...GROUP,
    run: (wanted) => resolveMany(deps, wanted, { signal: AbortSignal.timeout(LIMIT_MS) }),
  });
  return (recipient) => group.call(recipient);
}
