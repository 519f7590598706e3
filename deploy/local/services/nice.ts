import { getPriority, setPriority } from 'node:os';
import type { ServiceName } from '../../../schemas/topology.ts';

const MAX_NICE = 19;
/** Campaigns: nobody waits for the next message of one. */
const CAMPAIGNS = 5;
/** What is behind Kafka. */
const BEHIND = 3;
/** On the way of an event to its row. */
const STORING = 1;
/** What counts and folds events: it may be late where the rows of events are not. */
const COUNTING = 6;
/**
 * POST /v1/messages awaits PostgreSQL and ClickHouse several times, each time behind whatever else
 * has work then: what is behind Kafka wakes up once a second, all of it at one time.
 */
const MANAGEMENT = -4;

/**
 * Who answers requests comes first when there is too little CPU, and so do the servers: Redis and
 * Kafka are asked before an event is accepted, PostgreSQL and ClickHouse before POST /v1/messages
 * answers.
 */
const NICE: Partial<Record<ServiceName, number>> = {
  'management-api': MANAGEMENT,
  planner: CAMPAIGNS,
  dispatcher: CAMPAIGNS,
  normaliser: STORING,
  'events-sink': STORING,
  'profiles-sink': COUNTING,
  'identities-sink': COUNTING,
  'catalogue-sink': COUNTING,
  'quality-sink': COUNTING,
  'addresses-sink': BEHIND,
  'messages-sink': BEHIND,
  retention: COUNTING,
  metering: COUNTING,
  relays: BEHIND,
};

/** Of a service, as nice(1) counts. */
export function niceOf(name: ServiceName): number {
  return NICE[name] ?? 0;
}

/**
 * Makes a process that was just started nicer than this one, or less nice, which only root can: as
 * another user it is as nice as this one. One that has ended has no threads.
 */
export function setNice(pid: number, nice = 0): void {
  if (nice === 0) return;
  try {
    // The whole stack may have been started with nice(1).
    setPriority(pid, Math.min(getPriority(pid) + nice, MAX_NICE));
  } catch {
    // It has ended already, or may not be less nice.
  }
}
