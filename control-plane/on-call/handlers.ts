import { answer, type Answer } from '../errors.ts';
import type { MemberRequest, Services } from '../routes/route.ts';

const PROJECTIONS = ['events', 'identities', 'profiles'] as const;

/**
 * GET /v1/on-call: until when all events are in each projection, and the account's dead letters by
 * cause. A projection whose progress cannot be read has null.
 */
export async function getOnCall(
  { caller, now, trace }: MemberRequest,
  { freshness, deadLetters, wakeOperator, log }: Services,
): Promise<Answer> {
  // The list is up to date when the page asks the next time.
  wakeOperator('dead_letters');
  const progress = await Promise.all(
    PROJECTIONS.map(async (projection) => {
      try {
        const until = await freshness.freshUntil([projection]);
        return { projection, fresh_until: new Date(until).toISOString() };
      } catch (error) {
        log.warn({ err: error, code: 'freshness_unknown', trace }, 'a projection has no freshness');
        return { projection, fresh_until: null };
      }
    }),
  );
  return answer({
    now: new Date(now).toISOString(),
    progress,
    dead_letters: await deadLetters.list(caller.account.id),
  });
}
