import type { IncomingMessage } from 'node:http';
import type { Principal } from '../../ingest/account.ts';
import { presentedKey, type WriteKeys } from '../auth/write-keys.ts';
import { readBody, type BodyBudget, type BodyFailure } from './body.ts';
import { renderFailure, type Answer } from './render.ts';

export interface AuthenticationOptions {
  keys: Pick<WriteKeys, 'verify'>;
  maxBodyBytes: number;
  budget: BodyBudget;
}

const MISSING = renderFailure({ code: 'missing_write_key' });
const INVALID = renderFailure({ code: 'invalid_write_key' });
const UNVERIFIED = renderFailure({ code: 'key_unverified' });

const WITHOUT_BODY: Record<Exclude<BodyFailure, 'client_gone'>, Answer> = {
  too_large: renderFailure({ code: 'body_too_large' }),
  undecodable: renderFailure({ code: 'malformed_json' }),
  overloaded: renderFailure({ code: 'unavailable' }),
};

/** Whom a request is authenticated for by its write key, or the refusal (ingest 5.1). */
export async function authenticate(
  request: IncomingMessage,
  query: string,
  keys: Pick<WriteKeys, 'verify'>,
): Promise<Principal | Answer> {
  const key = presentedKey(request.headers, query);
  if (key === undefined) return MISSING;
  const known = keys.verify(key);
  const principal = known instanceof Promise ? await known : known;
  if (principal === 'invalid') return INVALID;
  return principal === 'unverified' ? UNVERIFIED : principal;
}

/**
 * The body of a request, or its refusal; `undefined` when the client has left. The caller releases
 * the bytes of the body from the budget.
 */
export async function readBodyOf(
  request: IncomingMessage,
  { accountId }: Principal,
  { maxBodyBytes: limit, budget }: AuthenticationOptions,
): Promise<Buffer | Answer | undefined> {
  const body = await readBody(request, { limit, budget, accountId });
  if (typeof body !== 'string') return body;
  return body === 'client_gone' ? undefined : WITHOUT_BODY[body];
}

/** True for a refusal where something else could have been. */
export function isAnswer(found: object): found is Answer {
  return 'status' in found;
}
