import type { Flow } from './in-flight.ts';

/**
 * Partitions whose records wait while nothing of them was acknowledged for `timeout` ms, and
 * whether another one was acknowledged recently.
 * @param clock ms of the ActiveClock
 */
export function silentPartitions(
  flows: readonly Flow[],
  { timeout, clock }: { timeout: number; clock: number },
): { silent: Flow[]; isAnyAlive: boolean } {
  const silent: Flow[] = [];
  let isAnyAlive = false;
  for (const flow of flows) {
    const since = Math.max(flow.oldest?.activeSince ?? Infinity, flow.lastAcknowledged);
    if (flow.records > 0 && clock - since > timeout) silent.push(flow);
    else if (clock - flow.lastAcknowledged < timeout / 2) isAnyAlive = true;
  }
  return { silent, isAnyAlive };
}

/**
 * At most half of the partitions have queues of their own, and at most 64, each of which has a
 * producer. When more cannot be written, Kafka is unavailable.
 */
export function mayBlock(of: { blocked: number; more: number; partitions: number }): boolean {
  return of.blocked + of.more <= Math.min(64, Math.max(1, Math.floor(of.partitions / 2)));
}
