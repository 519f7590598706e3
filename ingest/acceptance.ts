import type { Warning } from '../events/warnings.ts';

/** What became of the events of a request that was taken (ingest 2.6). */
export interface IngestSummary {
  /** Duplicates among them included. */
  accepted: number;
  duplicates: number;
  rejected: number;
  warnings: readonly Warning[];
  errors: readonly { index: number; reason: string }[];
}
