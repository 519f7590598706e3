import { tehranDay } from '../../events/tehran-time.ts';
import type { IngestOutcome } from '../../schemas/records.ts';

const DAY = 86_400_000;

/** A row of the table ingest_quality. */
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

/** The rows of an outcome: one for each kind, code, field and SDK that it counted. */
export function qualityRows(outcome: IngestOutcome): QualityRow[] {
  const day = new Date(tehranDay(outcome.received_at) * DAY).toISOString().slice(0, 10);
  const { account_id, app_id, gateway, sequence } = outcome;
  return outcome.counts.map(({ kind, code, field, sdk, count }) => ({
    account_id,
    day,
    kind,
    code,
    field,
    sdk,
    app_id,
    gateway,
    sequence,
    count,
  }));
}
