import type { QuotaRefusal } from '../events/quota.ts';
import type { Warning } from '../events/warnings.ts';

/** What became of the events of an accepted request (ingest 2.6). */
export interface IngestSummary {
  /** Includes the duplicates. */
  accepted: number;
  duplicates: number;
  rejected: number;
  warnings: readonly Warning[];
  errors: readonly { index: number; reason: string }[];
}

/** Why a whole request failed. */
export type IngestFailureCode = 'malformed_json' | 'rejected' | 'unavailable' | QuotaRefusal;

export interface IngestFailure {
  code: IngestFailureCode;
  /** Replaces the code's own sentence: the reason of a rejection. */
  message?: string;
}

export type IngestResult =
  { outcome: 'accepted'; summary: IngestSummary } | { outcome: 'failed'; failure: IngestFailure };
