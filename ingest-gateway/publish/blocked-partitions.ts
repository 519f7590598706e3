import type { Log } from '../../platform/log.ts';
import type { Spool } from '../spool/spool.ts';
import type { Completions } from './completions.ts';
import type { DrainContext, DrainedQueue } from './drained-queue.ts';
import type { Entry, Flow, InFlight } from './in-flight.ts';
import type { KnownTopics } from './known-topics.ts';
import { PartitionQueue } from './partition-queue.ts';
import { mayBlock } from './silence.ts';

interface BlockedPartitionsOptions {
  main: DrainedQueue;
  spool: Spool;
  inFlight: InFlight;
  context: DrainContext;
  completions: Completions;
  topics: Pick<KnownTopics, 'partitions'>;
  log: Log;
  /** Sends a record of a partition that can be written again. */
  resume: (entry: Entry) => void;
}

/** Partitions that cannot be written while others can: each has a queue of its own. */
export class BlockedPartitions {
  readonly #options: BlockedPartitionsOptions;

  constructor(options: BlockedPartitionsOptions) {
    this.#options = options;
  }

  get all(): Flow[] {
    return this.#options.inFlight.flows.filter(({ side }) => side !== undefined);
  }

  /** False: with these, too many partitions cannot be written; then Kafka is unavailable. */
  blockAll(flows: readonly Flow[]): boolean {
    const { topics, log } = this.#options;
    const fresh = flows.filter(({ side }) => side === undefined);
    const of = { blocked: this.all.length, more: fresh.length, partitions: topics.partitions };
    if (!mayBlock(of)) return false;
    for (const flow of fresh) {
      log.error(
        { code: 'partition_blocked', topic: flow.topic, partition: flow.partition },
        `partition ${flow.partition} of ${flow.topic} cannot be written while others can: its records go to a queue of its own in the spool until it can. Look at its leader and in-sync replicas`,
      );
      this.block(flow);
    }
    return true;
  }

  block(flow: Flow): void {
    const { main, spool, context, completions, log, resume } = this.#options;
    const { topic, partition } = flow;
    const side = new PartitionQueue({
      topic,
      partition,
      queue: spool.of(flow),
      context,
      append: completions.append,
      refuse: (entry) => completions.refuse(entry),
      onDrained: (held) => {
        flow.side = undefined;
        log.info({ topic, partition }, 'the partition can be written again');
        for (const entry of held) resume(entry);
      },
    });
    flow.side = side;
    // While other records are spooled, those of this partition stay in order among them.
    if (main.route === 'log') for (const entry of flow.removeAll()) side.accept(entry, 'disk');
  }
}
