/** Freshness and cost of a report (reports: Shared by both reports). */
export interface ReportMeta {
  /** RFC 3339: all events ingested before this time are included. */
  fresh_until: string;
  incomplete: boolean;
  rows_read: number;
  elapsed_ms: number;
}

/** Freshness, and what the query measured. */
export interface Measured {
  /** Epoch milliseconds. */
  freshUntil: number;
  rowsRead: number;
  elapsedMs: number;
}

export function reportMeta(
  { freshUntil, rowsRead, elapsedMs }: Measured,
  incomplete: boolean,
): ReportMeta {
  return {
    fresh_until: new Date(freshUntil).toISOString(),
    incomplete,
    rows_read: rowsRead,
    elapsed_ms: Math.round(elapsedMs),
  };
}
