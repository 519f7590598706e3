/** A soft bounce of one message to an address. */
export interface SoftBounce {
  /** What identifies the message. */
  message: string;
  /** ms since the epoch */
  at: number;
}

const WINDOW_MS = 14 * 24 * 3600 * 1000;
const MAX_SOFT_BOUNCES = 5;

/**
 * When an address is suppressed, ms: at the first bounce such that five messages have bounced in
 * the 14 days up to it, each counted at its first bounce (docs/channels.md, Bounces). Undefined
 * when it is not. The reference for projections/addresses/suppress-soft-bounces.ts.
 * @param bounces in the order of the log
 */
export function suppressedAt(bounces: readonly SoftBounce[]): number | undefined {
  const firsts = new Map<string, number>();
  for (const { message, at } of bounces) if (!firsts.has(message)) firsts.set(message, at);
  const times = [...firsts.values()].toSorted((a, b) => a - b);
  return times.find((end) => {
    const within = times.filter((at) => at <= end && end - at <= WINDOW_MS);
    return within.length >= MAX_SOFT_BOUNCES;
  });
}
