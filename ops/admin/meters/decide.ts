/** The reconciliation of one minute of reception (ARCHITECTURE.md, G6). */
export interface BookMinute {
  /** ms since the epoch */
  minute: number;
  /** Accepted events, billed or not: places without repeats, duplicates and dead letters. */
  accepted: number;
  /** Of these, events that the platform wrote itself: they are not billed. */
  unbilled: number;
  /** Of these, those that were too old to be kept when they came. */
  expired: number;
  /** Rows that ClickHouse held when the minute was last compared. */
  stored: number;
  /** Something was counted since the minute last balanced: events are on their way. */
  open: boolean;
}

export interface EventRecount {
  /** Events that are billed. */
  events: number;
  /** Events that the platform wrote itself. */
  unbilled: number;
  /** Rows that ClickHouse holds; that it dropped; too old to be kept; in flight. */
  rows: number;
  dropped: number;
  expired: number;
  under_way: number;
}

/**
 * Recounts a month's billed events (ingest 8: everything accepted that is no duplicate and that the
 * platform did not write itself). A minute that balances counts as the rows that are stored, and
 * what the books know to be gone: rows that retention has dropped since, and events that were too
 * old to be kept. A minute that does not balance yet has events on their way and counts as the
 * books do. A minute without books counts as its rows.
 * @param stored rows that ClickHouse holds, by minute, of raw records that the books have counted
 */
export function recountEvents(
  minutes: readonly BookMinute[],
  stored: ReadonlyMap<number, number>,
): EventRecount {
  const total: EventRecount = {
    ...{ events: 0, unbilled: 0, rows: 0, dropped: 0, expired: 0, under_way: 0 },
  };
  const known = new Set<number>();
  for (const { minute, accepted, unbilled, expired, stored: compared, open } of minutes) {
    known.add(minute);
    const rows = stored.get(minute) ?? 0;
    total.rows += rows;
    total.expired += expired;
    total.unbilled += unbilled;
    if (open) total.under_way += Math.max(0, accepted - expired - rows);
    else total.dropped += Math.max(0, compared - rows);
  }
  for (const [minute, rows] of stored) if (!known.has(minute)) total.rows += rows;
  const { rows, dropped, expired, under_way, unbilled } = total;
  total.events = Math.max(0, rows + dropped + expired + under_way - unbilled);
  return total;
}
