import { AccountBusy } from '../limits/account-slots.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import { reject, type Answer } from '../errors/domain-error.ts';
import type { Services } from '../services.ts';
import type { ApiRequest } from './request.ts';

interface Work {
  request: ApiRequest;
  services: Services;
  /** The route's 503. */
  error: ErrorCode;
  /** Of the log line. */
  code: string;
  message: string;
  work: (accountId: number) => Promise<Answer>;
}

/** A failure on our side is a warning and the route's 503 (ARCHITECTURE.md, G4). */
export async function answerOrUnavailable(options: Work): Promise<Answer> {
  const { request, services, error, code, message, work } = options;
  const { accountId } = request.caller;
  try {
    return await work(accountId);
  } catch (err) {
    if (err instanceof AccountBusy) return rejectBusy();
    services.log.warn({ err, code, account_id: accountId, trace: request.trace }, message);
    return reject(error);
  }
}

/** The account has too many queries waiting (management 7.3). */
export function rejectBusy(): Answer {
  return reject('budget_exhausted', {
    message: 'this account has too many queries in progress; wait for their answers',
  });
}
