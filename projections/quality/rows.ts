import { dayText, tehranDay } from '../../events/tehran-time.ts';
import type { IngestOutcome } from '../../schemas/records.ts';

/** A row of ingest_quality. */
export interface QualityRow {
  account_id: number;
  /** Day in Tehran, as YYYY-MM-DD. */
  day: string;
  kind: string;
  code: string;
  field: string;
  sdk: string;
  app_id: number;
  gateway: string;
  sequence: number;
  count: number;
}

/** One row for each kind, code, field and SDK of the outcome. */
export function qualityRows(outcome: IngestOutcome): QualityRow[] {
  const day = dayText(tehranDay(outcome.received_at));
  const { account_id, app_id, gateway, sequence } = outcome;
  return outcome.counts.map((count) => ({ account_id, day, app_id, gateway, sequence, ...count }));
}
