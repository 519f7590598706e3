import type { FunnelRequest } from './funnel/request.ts';
import type { Merges } from '../warehouse/people-sql.ts';
import type { RetentionRequest } from './retention/request.ts';

export interface ReportRun<Request> {
  accountId: number;
  request: Request;
  /** Of the tables that are read, ms since the epoch; read before the query begins. */
  freshUntil: number;
  merges: Merges;
  signal: AbortSignal;
}

/**
 * What the report routes need beside the freshness. The answers go out as they are; what rejects
 * becomes 503.
 */
export interface RunReports {
  funnel(run: ReportRun<FunnelRequest>): Promise<unknown>;
  retention(run: ReportRun<RetentionRequest>): Promise<unknown>;
}
