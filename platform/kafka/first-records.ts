interface TopicPartition {
  /** The name in Kafka: a topic that replaces one has brokers that do not know the producer. */
  topic: string;
  partition: number;
}

interface Partition<T> {
  /** The broker has acknowledged a record of this producer there. */
  isKnown: boolean;
  /** Something was sent since the last `renew`. */
  isUsed: boolean;
  /** The record whose report the others wait for. */
  first: T | undefined;
  waiting: T[];
}

/**
 * Sends the first record of each partition alone, and the next ones when it is acknowledged
 * (docs/decisions/0014-first-record-alone.md).
 *
 * A broker without state of an idempotent producer appends whatever sequence number comes first.
 * While a leader changes, the first request of a producer can be refused and the second, which is
 * in flight already, accepted; librdkafka then reports the first as delivered. Once a record is
 * acknowledged by every in-sync replica, each later leader knows the producer and refuses gaps.
 */
export class FirstRecords<T extends TopicPartition> {
  readonly #produce: (record: T) => void;
  readonly #partitions = new Map<string, (Partition<T> | undefined)[]>();
  readonly #firsts = new Map<T, Partition<T>>();

  /** @param produce queues a record in the client; may throw */
  constructor(produce: (record: T) => void) {
    this.#produce = produce;
  }

  /** Whether a partition has records that wait for the report of its first one. */
  get isWaiting(): boolean {
    return [...this.#firsts.values()].some(({ waiting }) => waiting.length > 0);
  }

  /** Produces the record, or keeps it until the first one is acknowledged. Throws as `produce`. */
  send(record: T): void {
    const partition = this.#partitionOf(record);
    partition.isUsed = true;
    if (partition.isKnown) this.#produce(record);
    else if (partition.first) partition.waiting.push(record);
    else this.#sendFirst(partition, record);
  }

  /**
   * To be called with each report, before it is passed on. Returns the records that fail with it,
   * in order: those that waited for a first record that failed, or that the client refuses now.
   */
  reported(record: T, { isDelivered }: { isDelivered: boolean }): readonly T[] {
    // Nearly always: this is called for every record.
    if (this.#firsts.size === 0) return [];
    const partition = this.#firsts.get(record);
    if (!partition) return [];
    this.#firsts.delete(record);
    partition.first = undefined;
    const waiting = partition.waiting.splice(0);
    if (!isDelivered) return waiting;
    partition.isKnown = true;
    for (const [index, next] of waiting.entries())
      try {
        this.#produce(next);
      } catch {
        // Nothing may overtake it.
        return waiting.slice(index);
      }
    return [];
  }

  /**
   * Partitions without a record since the last call begin again: brokers forget a producer that is
   * silent (producer.id.expiration.ms).
   */
  renew(): void {
    for (const partition of [...this.#partitions.values()].flat()) {
      if (!partition) continue;
      if (!partition.isUsed) partition.isKnown = false;
      partition.isUsed = false;
    }
  }

  #sendFirst(partition: Partition<T>, record: T): void {
    this.#produce(record);
    partition.first = record;
    this.#firsts.set(record, partition);
  }

  #partitionOf({ topic, partition }: TopicPartition): Partition<T> {
    let partitions = this.#partitions.get(topic);
    if (!partitions) this.#partitions.set(topic, (partitions = []));
    return (partitions[partition] ??= {
      isKnown: false,
      isUsed: false,
      first: undefined,
      waiting: [],
    });
  }
}
