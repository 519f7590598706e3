/** A record of a partition, to be produced. */
interface RecordToSend {
  /** The name in Kafka: a topic that replaces one has brokers that do not know the producer. */
  topic: string;
  partition: number;
  /** Of its value. */
  bytes: number;
}

interface Partition<T> {
  /** The broker has acknowledged a record of this producer there. */
  isKnown: boolean;
  /** Something was sent since the last `renew`. */
  isUsed: boolean;
  /** The record whose report the others wait for. */
  first: T | undefined;
  /** Records that the client does not have yet, in order. */
  waiting: T[];
  /** Records that the client has, and has not reported. */
  unreported: number;
  /** Until when the client puts records into the request that it fills, and the bytes of that. */
  filledUntil: number;
  filledBytes: number;
}

interface PartitionSendsOptions<T> {
  /** Queues a record in the client; may throw. */
  produce: (record: T) => void;
  /** Whether records that the client cannot send yet wait here instead of there. */
  holdsBack: boolean;
  /** linger.ms of the client. */
  linger: number;
  /** batch.size of the client. */
  batchBytes: number;
  /** A monotonic clock, ms. */
  now: () => number;
}

/** RD_KAFKA_IDEMP_MAX_INFLIGHT of librdkafka. */
const MAX_IN_FLIGHT = 5;
const NONE: readonly never[] = [];

/**
 * Decides when the client gets a record; those of a partition in order.
 *
 * The first record of a partition is sent alone, and the next ones when it is acknowledged
 * (docs/decisions/0014-first-record-alone.md). A broker without state of an idempotent producer
 * appends whatever sequence number comes first. While a leader changes, the first request of a
 * producer can be refused and the second, which is in flight already, accepted; librdkafka then
 * reports the first as delivered. Once a record is acknowledged by every in-sync replica, each
 * later leader knows the producer and refuses gaps.
 *
 * librdkafka begins no request of a partition while five of its records are in flight. Records that
 * it has and whose linger.ms is over make its thread poll without a pause until then, which took a
 * fifth of a gateway's CPU. So it gets only what it can send: the others wait here, if the caller
 * wants that. They are sent after the next poll for reports, and with a linger time of their own.
 */
export class PartitionSends<T extends RecordToSend> {
  readonly #options: PartitionSendsOptions<T>;
  readonly #partitions = new Map<string, (Partition<T> | undefined)[]>();

  constructor(options: PartitionSendsOptions<T>) {
    this.#options = options;
  }

  /** Whether there are records that the client does not have yet. */
  get isWaiting(): boolean {
    return this.#all.some(({ waiting }) => waiting.length > 0);
  }

  /** Produces the record, or keeps it until the client can send it. Throws as `produce`. */
  send(record: T): void {
    const partition = this.#partitionOf(record);
    partition.isUsed = true;
    if (partition.waiting.length > 0 || !this.#hasRoom(partition, record))
      partition.waiting.push(record);
    else {
      this.#produce(partition, record);
      if (!partition.isKnown) partition.first = record;
    }
  }

  /**
   * To be called with each report, before it is passed on. Returns the records that fail with it,
   * in order: those that wait behind a record that failed, or that the client refuses now.
   */
  reported(record: T, { isDelivered }: { isDelivered: boolean }): readonly T[] {
    const partition = this.#partitionOf(record);
    partition.unreported--;
    if (partition.first === record) {
      partition.first = undefined;
      if (isDelivered) partition.isKnown = true;
    }
    const { waiting } = partition;
    if (waiting.length === 0) return NONE;
    if (!isDelivered) return waiting.splice(0);
    let sent = 0;
    for (const next of waiting) {
      if (!this.#hasRoom(partition, next)) break;
      try {
        this.#produce(partition, next);
      } catch {
        // Nothing may overtake it.
        waiting.splice(0, sent);
        return waiting.splice(0);
      }
      sent++;
    }
    waiting.splice(0, sent);
    return NONE;
  }

  /**
   * Partitions without a record since the last call begin again: brokers forget a producer that is
   * silent (producer.id.expiration.ms).
   */
  renew(): void {
    for (const partition of this.#all) {
      if (!partition.isUsed) partition.isKnown = false;
      partition.isUsed = false;
    }
  }

  get #all(): Partition<T>[] {
    return [...this.#partitions.values()].flat().filter((partition) => partition !== undefined);
  }

  /** Whether the client sends the record without waiting for a report. */
  #hasRoom(partition: Partition<T>, { bytes }: T): boolean {
    if (!partition.isKnown) return partition.first === undefined;
    const { holdsBack, now, batchBytes } = this.#options;
    if (!holdsBack || partition.unreported < MAX_IN_FLIGHT) return true;
    return partition.filledBytes + bytes <= batchBytes && now() < partition.filledUntil;
  }

  #produce(partition: Partition<T>, record: T): void {
    const { produce, holdsBack, linger, now } = this.#options;
    produce(record);
    if (holdsBack) {
      const at = now();
      if (partition.unreported === 0 || at >= partition.filledUntil) {
        partition.filledUntil = at + linger;
        partition.filledBytes = 0;
      }
      partition.filledBytes += record.bytes;
    }
    partition.unreported++;
  }

  #partitionOf({ topic, partition }: RecordToSend): Partition<T> {
    let partitions = this.#partitions.get(topic);
    if (!partitions) this.#partitions.set(topic, (partitions = []));
    return (partitions[partition] ??= {
      isKnown: false,
      isUsed: false,
      first: undefined,
      waiting: [],
      unreported: 0,
      filledUntil: -Infinity,
      filledBytes: 0,
    });
  }
}
