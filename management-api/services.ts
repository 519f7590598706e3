import type { Log } from '../platform/log.ts';
import type { RunReports } from './reports/run.ts';
import type { Campaigns } from './campaigns/ports.ts';
import type { CountAudience } from './audiences/count.ts';
import type { ResolveToken } from './auth/key-store.ts';
import type { OpenRequests } from './budget/open-requests.ts';
import type { ChargeBudget } from './budget/redis-budget.ts';
import type { ExportStore } from './exports/export-store.ts';
import type { Freshness } from '../platform/freshness/freshness.ts';
import type { BodyDecider } from '../ingest/body-decider.ts';
import type { EventWriter } from '../ingest/event-writer.ts';
import type { CheckQuota } from './imports/quota.ts';
import type { Features } from './introspection/features.ts';
import type { CheckLock } from './lock/soft-lock.ts';
import type { CheckRate } from './messages/rate-limit.ts';
import type { TransactionalSender } from '../messaging/transactional/transactional-sender.ts';
import type { ReadQuality } from './quality/queries.ts';
import type { ReadSchema } from './schema/queries.ts';
import type { MergesOf } from '../audiences/people-sql.ts';
import type { SegmentStore } from './segments/segment-store.ts';

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

/** What POST /v1/messages needs. */
export interface Messages {
  send: TransactionalSender['send'];
  checkRate: CheckRate;
}

/** The dependencies of the handlers; start() in app.ts creates them. */
export interface Services extends GuardPorts {
  version: string;
  features: Features;
  freshness: Freshness;
  reports: RunReports;
  mergesOf: MergesOf;
  schema: ReadSchema;
  readQuality: ReadQuality;
  countAudience: CountAudience;
  segments: SegmentStore;
  campaigns: Campaigns;
  imports: Imports;
  exports: ExportStore;
  messages: Messages;
}
