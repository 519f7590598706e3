/** How current a report is and what it cost (reports: Shared by both reports). */
export interface ReportMeta {
  /** RFC 3339: all that was appended to the log before it is in the report. */
  fresh_until: string;
  incomplete: boolean;
  rows_read: number;
  elapsed_ms: number;
}

/** What the shell measured, beside the freshness that was handed in. */
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
