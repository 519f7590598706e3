import { statfs } from 'node:fs/promises';
import type { ClaimBatcher } from '../../platform/claims/claim-batcher.ts';
import type { LocalClaims } from '../../platform/claims/local-claims.ts';
import type { BodyDecider } from '../../ingest/body-decider.ts';
import type { WriteKeys } from '../auth/write-keys.ts';
import type { BodyBudget } from '../http/body.ts';
import type { OpenConnections } from '../http/connection-limit.ts';
import type { EventServer } from '../http/serve-events.ts';
import type { BlockedReason } from '../publish/drain-options.ts';
import type { KnownTopics } from '../publish/known-topics.ts';
import type { Phase } from '../publish/evolve.ts';
import type { OpenCounts } from '../opens/record-opens.ts';
import type { OptOutCounts } from '../tracking/announce-opt-outs.ts';
import type { HoldGate } from '../hold/hold-gate.ts';
import type { Publisher } from '../publish/publisher.ts';
import type { Spool } from '../spool/spool.ts';
import type { Reading } from './gateway-metrics.ts';

interface Components {
  /** SPOOL_DIR */
  spoolFolder: string;
  spool: Spool;
  publisher: Publisher;
  batcher: ClaimBatcher;
  claims: LocalClaims;
  keys: WriteKeys;
  events: EventServer;
  budget: BodyBudget;
  connections: OpenConnections;
  decider: BodyDecider;
  topics: KnownTopics;
  gate: HoldGate;
  opens: OpenCounts;
  optOuts: OptOutCounts;
}

const BLOCKED: readonly BlockedReason[] = [
  'quarantine_full',
  'quarantine_unwritable',
  'unknown_version',
];

const PHASES: readonly Phase[] = [
  'connecting',
  'waiting',
  'draining',
  'handing_over',
  'direct',
  'closed',
];

/** The metrics that are read from the components of the gateway. */
export function gatewayReadings({
  spoolFolder,
  spool,
  publisher,
  batcher,
  claims,
  keys,
  events,
  budget,
  connections,
  decider,
  topics,
  gate,
  opens,
  optOuts,
}: Components): Reading[] {
  const gauge = (name: string, help: string, read: Reading['read'], label?: string): Reading => ({
    name: `ravand_gateway_${name}`,
    help,
    kind: 'gauge',
    read,
    ...(label === undefined ? {} : { label }),
  });
  const counter = (name: string, help: string, read: Reading['read'], label?: string): Reading => ({
    ...gauge(name, help, read, label),
    kind: 'counter',
  });
  return [
    gauge('spool_bytes', 'Bytes in the spool.', () => spool.bytes),
    gauge(
      'layout_held',
      '1 while new records wait in the spool for another layout of the log.',
      () => Number(gate.phase !== 'passing'),
    ),
    gauge(
      'layout_mismatch',
      '1 while Kafka has another number of partitions than ./ravand log grow recorded: the gateway goes on by the recorded one.',
      () => Number(gate.problem !== undefined),
    ),
    gauge('spool_max_bytes', 'SPOOL_MAX_BYTES.', () => spool.maxBytes),
    gauge('spool_disk_free_bytes', 'Free bytes of the disk of SPOOL_DIR.', () =>
      statfs(spoolFolder).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => undefined,
      ),
    ),
    counter(
      'spool_share_refused_total',
      "Records refused because their account's share of the spool was full.",
      () => spool.refusedShares,
    ),
    gauge('spool_records', 'Records in the spool that are not in Kafka yet.', () => spool.records),
    gauge('spool_events', 'Accepted events in the spool.', () => spool.events.total),
    gauge(
      'spool_quarantine_bytes',
      'Bytes in quarantine: damaged, or refused by Kafka.',
      () => spool.quarantine.bytes,
    ),
    counter(
      'spool_quarantined_total',
      'Pieces that this process put into quarantine.',
      () => spool.quarantine.found,
    ),
    gauge(
      'spool_drain_blocked',
      '1 while spooled records can be neither published nor kept in quarantine.',
      () => BLOCKED.map((reason) => [reason, publisher.blockedDrains.has(reason) ? 1 : 0]),
      'reason',
    ),
    gauge(
      'blocked_partitions',
      'Partitions that cannot be written while others can; their records wait in the spool.',
      () => publisher.blockedPartitions.length,
    ),
    gauge(
      'record_limit_bytes',
      'Largest record that Kafka accepts, by topic.',
      () => topics.limits.known,
      'topic',
    ),
    gauge(
      'record_needed_bytes',
      'Largest record that a request may become.',
      () => topics.limits.needed,
    ),
    counter('spool_torn_total', 'Torn segment tails found at the start.', () => spool.torn),
    gauge(
      'publisher_phase',
      '1 for the current phase of the publisher.',
      () => PHASES.map((phase) => [phase, publisher.phase === phase ? 1 : 0]),
      'phase',
    ),
    gauge(
      'in_flight_records',
      'Records that wait for an acknowledgement of Kafka.',
      () => publisher.inFlight.records,
    ),
    gauge(
      'in_flight_bytes',
      'Bytes of the records that wait for an acknowledgement of Kafka.',
      () => publisher.inFlight.bytes,
    ),
    gauge(
      'waiting_records',
      'Records in memory that are sent when others are acknowledged.',
      () => publisher.waiting.records,
    ),
    gauge(
      'waiting_bytes',
      'Bytes of the records in memory that are sent when others are acknowledged.',
      () => publisher.waiting.bytes,
    ),
    counter(
      'records_total',
      'Records by where they became durable.',
      () => Object.entries(publisher.counters),
      'outcome',
    ),
    gauge(
      'claims_available',
      '1 while Redis answers claims; otherwise events are published without claims.',
      () => (batcher.available ? 1 : 0),
    ),
    counter(
      'claims_total',
      'Message-id claims in Redis by action.',
      () => Object.entries(batcher.counters),
      'action',
    ),
    counter(
      'recent_ids_total',
      'Message ids that were looked up among the recent ones of this process, how many it knew and asked Redis about, and how often all were forgotten because the log changed or PostgreSQL could not say so.',
      () => Object.entries(claims.counters),
      'action',
    ),
    gauge('recent_ids_bytes', 'Memory of the recent message ids.', () => claims.bytes),
    gauge('write_keys_cached', 'Cached write keys, valid or not.', () => keys.size),
    gauge('requests_in_flight', 'Requests in progress.', () => events.active),
    counter(
      'bodies_decided_total',
      'Request bodies by where they were parsed: inline, or in a thread because that may be expensive; refused: too many wait for the thread; failed: the thread was ended.',
      () => Object.entries(decider.counters),
      'where',
    ),
    gauge('bodies_waiting', 'Request bodies that wait for the thread.', () => decider.waiting),
    gauge(
      'opens_waiting',
      'Messages whose opens are not written to Kafka and PostgreSQL yet.',
      () => opens.waiting,
    ),
    counter(
      'opens_dropped_total',
      'Opens of messages that were dropped because too many waited.',
      () => opens.dropped,
    ),
    counter(
      'spooled_opt_outs_total',
      'Opt-outs that went into the spool: announced to those who send, or unannounced and answered 503.',
      () => Object.entries(optOuts),
      'outcome',
    ),
    gauge('connections', 'Open connections of clients.', () => connections.open),
    gauge('max_connections', 'Limit of connections: MAX_CONNECTIONS.', () => connections.max),
    counter(
      'connections_refused_total',
      'Connections that were closed at once because of the limit: all others were in use.',
      () => connections.refused,
    ),
    counter(
      'connections_evicted_total',
      'Connections without a request that were closed for new ones because of the limit.',
      () => connections.evicted,
    ),
    gauge('bodies_in_flight_bytes', 'Bytes of request bodies in memory.', () => budget.bytes),
  ];
}
