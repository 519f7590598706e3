/** An event of GET /v1/live. */
export interface LiveEvent {
  received_at: string;
  timestamp: string;
  type: string;
  event: string;
  user_id: string;
  anonymous_id: string;
  message_id: string;
  source: string;
  library: string;
  properties: Record<string, string>;
}

/** Events that the page keeps. */
const KEPT = 1000;

/**
 * New answers in front of what was shown; answers overlap, because an event may be stored later
 * than one that was received after it.
 */
export function mergeEvents(
  shown: readonly LiveEvent[],
  came: readonly LiveEvent[],
): readonly LiveEvent[] {
  const known = new Set(shown.map(keyOf));
  const added = came.filter((event) => !known.has(keyOf(event)));
  if (added.length === 0) return shown;
  return [...added, ...shown]
    .toSorted(
      (a, b) =>
        Date.parse(b.received_at) - Date.parse(a.received_at) ||
        Date.parse(b.timestamp) - Date.parse(a.timestamp),
    )
    .slice(0, KEPT);
}

export function keyOf({ message_id, received_at, type }: LiveEvent): string {
  return `${type} ${message_id} ${received_at}`;
}
