import { dayText, tehranDay } from '../../events/tehran-time.ts';
import type { IngestOutcome, OutcomeCount } from '../../schemas/records.ts';

/** A row of ingest_quality. */
export interface QualityRow
  extends OutcomeCount, Pick<IngestOutcome, 'account_id' | 'app_id' | 'gateway' | 'sequence'> {
  /** Day in Tehran, as YYYY-MM-DD. */
  day: string;
}

/** One row for each kind, code, field and SDK of the outcome. */
export function qualityRows(outcome: IngestOutcome): QualityRow[] {
  const day = dayText(tehranDay(outcome.received_at));
  const { account_id, app_id, gateway, sequence } = outcome;
  return outcome.counts.map((count) => ({ account_id, day, app_id, gateway, sequence, ...count }));
}
