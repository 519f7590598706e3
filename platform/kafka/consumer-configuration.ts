import { rdkafkaConnection } from './connection.ts';
import type { PartitionConsumerOptions } from './consumer-types.ts';
import type { GroupProtocol } from './group-protocol.ts';
import { clientIdOf } from './reader-versions.ts';

interface ConfigurationOptions extends Pick<
  Required<PartitionConsumerOptions>,
  'settings' | 'groupId' | 'clientId' | 'instanceId'
> {
  /** How long a batch may wait for more records, ms. */
  maxWaitMs: number;
}

/** A lost connection is noticed within this time, reported or not (lost-connections.ts), ms. */
const STATISTICS_MS = 10_000;

/**
 * A consumer that may wait fetches rarely and in large responses: a fetch per few records costs
 * brokers and clients more than the records themselves. One that may not is answered as soon as
 * there is a record, so it may wait long for the first.
 */
function fetchSettings(maxWaitMs: number): {
  'fetch.min.bytes': number;
  'fetch.wait.max.ms': number;
} {
  if (maxWaitMs < LARGE_FETCH_FROM_MS) return { 'fetch.min.bytes': 1, 'fetch.wait.max.ms': 1000 };
  const isSlow = maxWaitMs >= SLOW_FROM_MS;
  return {
    'fetch.min.bytes': 1024 * 1024,
    'fetch.wait.max.ms': Math.round(Math.min(500, maxWaitMs / (isSlow ? 2 : 4))),
  };
}

const LARGE_FETCH_FROM_MS = 50;
/** Below it, people or other services wait for what the consumer does. */
const SLOW_FROM_MS = 400;

/** KAFKA_SESSION_TIMEOUT by default. */
const SESSION_MS = 6000;

/**
 * A named member has a static membership of the classic protocol: restarted within the session, it
 * gets its partitions back without a rebalance. Other members use the newer protocol (KIP-848),
 * unless the group has classic members (group-protocol.ts): in the classic one a rebalance waits
 * for every member, dead ones until their sessions end, so a process that is killed more often than
 * that delays the partitions of its successors for ever.
 */
function membership(
  { instanceId, settings }: Pick<ConfigurationOptions, 'instanceId' | 'settings'>,
  protocol: GroupProtocol,
): Record<string, string | number> {
  const session = settings.KAFKA_SESSION_TIMEOUT ?? SESSION_MS;
  if (protocol === 'consumer') return { 'group.protocol': 'consumer' };
  return {
    ...(instanceId === '' ? {} : { 'group.instance.id': instanceId }),
    'session.timeout.ms': session,
    'heartbeat.interval.ms': Math.floor(session / 4),
    'partition.assignment.strategy': 'cooperative-sticky',
  };
}

/** Settings of librdkafka for a consumer that joins its group by this protocol. */
export function consumerConfiguration(
  { settings, groupId, clientId, instanceId, maxWaitMs }: ConfigurationOptions,
  protocol: GroupProtocol,
): Record<string, string | number | boolean> {
  return {
    ...rdkafkaConnection(settings),
    'group.id': groupId,
    'client.id': clientIdOf(clientId),
    ...membership({ instanceId, settings }, protocol),
    'max.poll.interval.ms': 60_000,
    'enable.auto.commit': false,
    'enable.auto.offset.store': false,
    'allow.auto.create.topics': false,
    'check.crcs': true,
    ...fetchSettings(maxWaitMs),
    'fetch.error.backoff.ms': 100,
    'fetch.queue.backoff.ms': 10,
    'fetch.message.max.bytes': 4 * 1024 * 1024,
    'queued.max.messages.kbytes': 16 * 1024,
    'statistics.interval.ms': STATISTICS_MS,
    // New partitions are found within this time; ./ravand log grow waits for it.
    'topic.metadata.refresh.interval.ms': 10_000,
  };
}
