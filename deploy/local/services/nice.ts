import { setPriority } from 'node:os';
import type { ServiceName } from '../../../schemas/topology.ts';

/** Campaigns: nobody waits for the next message of one. */
const CAMPAIGNS = 10;
/** What is behind Kafka, and the store of reports. */
const BEHIND = 5;

/**
 * Who answers requests comes first when there is too little CPU: what is missing here works for
 * all. Redis and Kafka are asked before an event is accepted, PostgreSQL before a message is sent.
 */
const NICE: Partial<Record<ServiceName | 'clickhouse', number>> = {
  planner: CAMPAIGNS,
  dispatcher: CAMPAIGNS,
  clickhouse: BEHIND,
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

/** Of a part of the stack, as nice(1) counts. */
export function niceOf(name: string): number {
  return new Map<string, number>(Object.entries(NICE)).get(name) ?? 0;
}

/** Sets it for a process that was just started. One that has ended has none. */
export function setNice(pid: number, nice = 0): void {
  if (nice === 0) return;
  try {
    setPriority(pid, nice);
  } catch {
    // It has ended already.
  }
}
