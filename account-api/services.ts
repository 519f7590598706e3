import type { MergesOf } from '../audiences/people-sql.ts';
import type { TransactionalSender } from '../messaging/transactional/transactional-sender.ts';
import type { Freshness } from '../platform/freshness/freshness.ts';
import type { Log } from '../platform/log.ts';
import type { CountAudience } from './audiences/count.ts';
import type { Campaigns } from './campaigns/ports.ts';
import type { ExportStore } from './exports/export-store.ts';
import type { Features } from './features.ts';
import type { CheckRate } from './messages/rate-limit.ts';
import type { ReadQuality } from './quality/queries.ts';
import type { RunReports } from './reports/run.ts';
import type { ReadSchema } from './schema/queries.ts';
import type { SegmentStore } from './segments/segment-store.ts';

/** What POST /v1/messages needs. */
export interface Messages {
  send: TransactionalSender['send'];
  checkRate: CheckRate;
}

/** The dependencies of the handlers that the management host and the panel share. */
export interface Services {
  log: Log;
  features: Features;
  freshness: Freshness;
  reports: RunReports;
  mergesOf: MergesOf;
  schema: ReadSchema;
  readQuality: ReadQuality;
  countAudience: CountAudience;
  segments: SegmentStore;
  campaigns: Campaigns;
  exports: ExportStore;
  messages: Messages;
}
