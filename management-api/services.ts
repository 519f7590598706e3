import type { CheckLock } from '../account-api/lock/soft-lock.ts';
import type { OpenRequests } from '../account-api/limits/open-requests.ts';
import type { Services as AccountServices } from '../account-api/services.ts';
import type { BodyDecider } from '../ingest/body-decider.ts';
import type { EventWriter } from '../ingest/event-writer.ts';
import type { Log } from '../platform/log.ts';
import type { ResolveToken } from './auth/key-store.ts';
import type { ChargeBudget } from './budget/redis-budget.ts';
import type { CheckQuota } from './imports/quota.ts';

/** What the guards of every route need. */
export interface GuardPorts {
  log: Log;
  resolveToken: ResolveToken;
  chargeBudget: ChargeBudget;
  /** Units a key may use in a minute (PUBLIC_API_BUDGET_PER_MINUTE). */
  budgetPerMinute: number;
  checkLock: CheckLock;
  openRequests: Pick<OpenRequests, 'enter' | 'leave'>;
}

/** What POST /v1/events needs. */
export interface Imports {
  writer: Pick<EventWriter, 'write'>;
  decider: Pick<BodyDecider, 'decide'>;
  checkQuota: CheckQuota;
  /** A new unique id. */
  makeId: () => string;
}

/** The dependencies of the handlers; start() in app.ts creates them. */
export interface Services extends AccountServices, GuardPorts {
  version: string;
  imports: Imports;
}
