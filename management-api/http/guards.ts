import type { IncomingHttpHeaders } from 'node:http';
import { withDeadline } from '../../platform/deadline.ts';
import { addressRanges } from '../../platform/network/address-ranges.ts';
import { findCredential } from '../auth/credential.ts';
import {
  admit,
  rejectWithoutPermission,
  rejectBeforeLookup,
  type KeyCaller,
  type Resolved,
} from '../auth/decide.ts';
import { rejectOverBudget } from '../budget/decide.ts';
import type { ErrorCode } from '../../account-api/errors/catalogue.ts';
import type { DomainError } from '../../account-api/errors/domain-error.ts';
import { lockedError } from '../../account-api/lock/decide.ts';
import type { GuardPorts } from '../services.ts';
import type { KeyRoute } from '../../account-api/http/route.ts';

const LOOKUP_MS = 5000;
const BUDGET_MS = 1000;

export interface GuardInput {
  route: Pick<KeyRoute, 'permission' | 'cost' | 'lock'>;
  headers: IncomingHttpHeaders;
  /** The client's address. */
  ip: string;
  now: number;
}

export type GuardResult = { ok: true; caller: KeyCaller } | { ok: false; error: DomainError };

/**
 * The guards in their order: credential (401), address (403), permission (403, free of charge),
 * budget (503, 429), soft lock (403). Management 5, 8.1, 3.1.
 */
export async function passGuards(
  { route, headers, ip, now }: GuardInput,
  ports: GuardPorts,
): Promise<GuardResult> {
  const entry = await authenticate({ headers, ip, now }, ports);
  if (!entry.ok) return entry;
  const error =
    rejectWithoutPermission(entry.caller, route.permission) ??
    (await chargeBudget({ keyId: entry.caller.keyId, units: route.cost, now }, ports)) ??
    (route.lock ? await refuseLocked(entry.caller.accountId, { now, ports }) : undefined);
  return error ? { ok: false, error } : entry;
}

async function authenticate(
  { headers, ip, now }: Omit<GuardInput, 'route'>,
  ports: GuardPorts,
): Promise<GuardResult> {
  const credential = findCredential(headers);
  const unseen = rejectBeforeLookup(credential);
  if (unseen || !credential) return refused(unseen?.code ?? 'unauthenticated');
  let resolved: Resolved;
  try {
    resolved = await withDeadline(
      { ms: LOOKUP_MS, waitingFor: 'the lookup of a key' },
      ports.resolveToken(credential.token),
    );
  } catch (error) {
    ports.log.warn(
      { err: error, code: 'key_lookup_failed' },
      'management keys cannot be looked up; requests answer 503',
    );
    return refused('key_lookup_unavailable');
  }
  const admission = admit(resolved, now);
  if (!admission.ok) return admission;
  if (admission.ipAllow.length > 0 && !addressRanges(admission.ipAllow).contains(ip))
    return refused('ip_not_allowed');
  return { ok: true, caller: admission.caller };
}

async function chargeBudget(
  charge: { keyId: number; units: number; now: number },
  ports: GuardPorts,
): Promise<DomainError | undefined> {
  try {
    const used = await withDeadline(
      { ms: BUDGET_MS, waitingFor: 'the budget counter' },
      ports.chargeBudget(charge),
    );
    return rejectOverBudget({ used, allowance: ports.budgetPerMinute });
  } catch (error) {
    ports.log.warn(
      { err: error, code: 'budget_unreadable' },
      'the budget counters cannot be reached; requests answer 503',
    );
    return { code: 'budget_unavailable' };
  }
}

async function refuseLocked(
  accountId: number,
  { now, ports }: { now: number; ports: GuardPorts },
): Promise<DomainError | undefined> {
  const reason = await ports.checkLock(accountId, now);
  return reason === undefined ? undefined : lockedError(reason);
}

function refused(code: ErrorCode): GuardResult {
  return { ok: false, error: { code } };
}
