import { dayText, tehranDay } from '../../events/tehran-time.ts';
import type { IngestOutcome, OutcomeCount, SdkBalance } from '../../schemas/records.ts';

/** A row of ingest_quality. */
export interface QualityRow
  extends OutcomeCount, Pick<IngestOutcome, 'account_id' | 'app_id' | 'gateway' | 'sequence'> {
  /** Day in Tehran, as YYYY-MM-DD. */
  day: string;
}

/** A row of sdk_balances. */
interface BalanceRow
  extends Omit<SdkBalance, 'dropped'>, Pick<IngestOutcome, 'account_id' | 'app_id'> {
  /** s since the epoch, with ms: ClickHouse reads a fraction only in a text. */
  received_at: string;
  dropped: Record<string, number>;
  in_request: number;
}

/** One row for each kind, code, field and SDK of the outcome. */
export function qualityRows(outcome: IngestOutcome): QualityRow[] {
  const day = dayText(tehranDay(outcome.received_at));
  const { account_id, app_id, gateway, sequence } = outcome;
  return outcome.counts.map((count) => ({ account_id, day, app_id, gateway, sequence, ...count }));
}

/** The balance that the SDK reported with the request, if it did. */
export function balanceRows(outcome: IngestOutcome): BalanceRow[] {
  const { account_id, app_id, received_at, received, balance } = outcome;
  if (balance === null) return [];
  const { dropped, ...counts } = balance;
  return [
    {
      ...{ account_id, app_id, received_at: (received_at / 1000).toFixed(3), ...counts },
      dropped: Object.fromEntries(dropped.map(({ cause, count }) => [cause, count])),
      in_request: received,
    },
  ];
}
