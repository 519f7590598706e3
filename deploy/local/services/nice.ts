import { getPriority, setPriority } from 'node:os';
import type { ServiceName } from '../../../schemas/topology.ts';

/** Campaigns: nobody waits for the next message of one. */
const CAMPAIGNS = 10;
/** What is behind Kafka. */
const BEHIND = 5;

/**
 * Who answers requests comes first when there is too little CPU, and so do the servers: Redis and
 * Kafka are asked before an event is accepted, PostgreSQL and ClickHouse before POST /v1/messages
 * answers.
 */
const NICE: Partial<Record<ServiceName, number>> = {
  planner: CAMPAIGNS,
  dispatcher: CAMPAIGNS,
  normaliser: BEHIND,
  'events-sink': BEHIND,
  'profiles-sink': BEHIND,
  'identities-sink': BEHIND,
  'catalogue-sink': BEHIND,
  'quality-sink': BEHIND,
  'addresses-sink': BEHIND,
  'messages-sink': BEHIND,
  retention: BEHIND,
  metering: BEHIND,
  relays: BEHIND,
};

/** Of a service, as nice(1) counts. */
export function niceOf(name: ServiceName): number {
  return NICE[name] ?? 0;
}

/** Sets it for a process that was just started. One that has ended has none. */
export function setNice(pid: number, nice = 0): void {
  if (nice === 0) return;
  try {
    // It may have been started with less.
    setPriority(pid, Math.max(nice, getPriority(pid)));
  } catch {
    // It has ended already.
  }
}
