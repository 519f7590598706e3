import { AccountBusy } from '../../account-api/limits/account-slots.ts';
import { refuse, type Answer } from '../errors.ts';
import type { MemberRequest, Services } from './route.ts';

interface Context {
  request: MemberRequest;
  services: Pick<Services, 'log'>;
  /** Of the log line. */
  code: string;
}

/** A query that fails is a warning and a 503; one too many of an account is a 429. */
export async function orUnavailable(
  { request, services, code }: Context,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const { caller, trace, signal } = request;
  try {
    return await work();
  } catch (err) {
    if (err instanceof AccountBusy) return refuse('too_many_requests', { retryAfter: 1 });
    if (!signal.aborted)
      services.log.warn(
        { err, code, account_id: caller.account.id, trace },
        'a query of the panel failed',
      );
    return refuse('unavailable');
  }
}
