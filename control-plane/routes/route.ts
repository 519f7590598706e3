import type { Features } from '../../account-api/features.ts';
import type { MergesOf } from '../../audiences/people-sql.ts';
import type { CountInMinute } from '../../account-api/limits/minute-counter.ts';
import type { Messages } from '../../account-api/services.ts';
import type { RunRows } from '../../account-api/queries.ts';
import type { Sealer } from '../../platform/sealing.ts';
import type { Permission } from '../../platform/permissions.ts';
import type { Answer } from '../errors.ts';
import type { WebhookConnectionStore } from '../webhook-connections/store.ts';
import type { Freshness } from '../../platform/freshness/freshness.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { ReconciliationCounts } from '../../platform/meters/read-reconciliation.ts';
import type { AuditStore } from '../audit/audit-store.ts';
import type { KeyStore } from '../keys/key-store.ts';
import type { HashQueue } from '../members/hash-queue.ts';
import type { MembershipStore } from '../members/membership-store.ts';
import type { BookMinutes } from '../overview/book-minutes.ts';
import type { StartStore } from '../overview/start-store.ts';
import type { DeadLetterCauses } from '../on-call/dead-letter-causes.ts';
import type { NamesStore } from '../people/names-store.ts';
import type { RelayStore } from '../relays/store.ts';
import type { DashboardStore } from '../dashboards/dashboard-store.ts';
import type { LinkStore } from '../links/link-store.ts';
import type { JobStore } from '../operations/job-store.ts';
import type { OperationStore } from '../operations/operation-store.ts';
import type { Wake } from '../../platform/operations/wake.ts';
import type { SavedReportStore } from '../saved-reports/saved-report-store.ts';
import type { Store } from '../store.ts';
import type { UsageStore } from '../usage/usage-store.ts';
import type { Caller } from '../sessions/authenticate.ts';

/** Dependencies of handlers. */
export interface Services {
  webhookConnections: WebhookConnectionStore;
  relays: RelayStore;
  /** Undefined: nothing can be sealed here. */
  sealer: Sealer | undefined;
  /** EMAIL_TRACK_BASE; empty: unset. */
  trackBase: string;
  /** Public address of short links, without /s/; empty: unknown. */
  shortLinkBase: string;
  /** Address of the ingest host for clients; empty: unknown. */
  ingestUrl: string;
  log: Log;
  keys: KeyStore;
  memberships: MembershipStore;
  hashes: Pick<HashQueue, 'run'>;
  audit: AuditStore;
  usage: UsageStore;
  savedReports: SavedReportStore;
  dashboards: DashboardStore;
  links: LinkStore;
  books: BookMinutes;
  startStore: StartStore;
  freshness: Freshness;
  people: NamesStore;
  deadLetters: DeadLetterCauses;
  operations: OperationStore;
  /** Tells the operator what to look at; never fails. */
  wakeOperator: (what: Wake) => void;
  jobs: JobStore;
  /** Of on-site campaigns. */
  store: Store;
  /** Of campaigns and templates. */
  database: Pick<Database, 'query'>;
  messages: Pick<Messages, 'send'>;
  countInMinute: CountInMinute;
  mergesOf: MergesOf;
  readFew: RunRows;
  readMany: RunRows;
  readBooks: (accountId: number) => Promise<ReconciliationCounts>;
}

/** The part of a request that handlers see; never the reply. */
export interface MemberRequest {
  caller: Caller;
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The parsed JSON of a route with a body; undefined otherwise. */
  body: unknown;
  /** ms since the epoch */
  now: number;
  trace: string;
  /** Aborts when the client leaves or the time is over. */
  signal: AbortSignal;
}

/** A row of the control plane's table (ingest 4.9). */
export interface ControlRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Parameters as `{name}`, as the specification writes them. */
  path: string;
  /** Undefined: every member. */
  permission: Permission | undefined;
  /** Served only while this is switched on, as the routes of keys are. */
  feature?: keyof Features;
  readsBody: boolean;
  handler(request: MemberRequest, services: Services): Answer | Promise<Answer>;
}
