import type { LayoutMarker } from '../../events/raw/layout-marker.ts';
import type { EpochOf } from '../../events/raw/record-claims.ts';
import { delay } from '../../platform/backoff.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import { readEpochs, type TopicEpochs } from '../../platform/log/epochs.ts';
import {
  isInForce,
  partitionsAt,
  partitionsProblem,
  readLayout,
  type LogLayout,
} from '../../platform/log/layout.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { sharedRead } from '../../platform/shared-read.ts';
import type { Names } from './config.ts';
import type { Placement } from './placement.ts';
import type { Reasons } from './reasons.ts';

interface LayoutOptions {
  database: Database;
  producer: Pick<LogProducer, 'partitions'>;
  names: Names;
  log: Log;
  reasons: Reasons;
  /** The layout at the start. */
  layout: LogLayout;
  onMismatch: (is: boolean) => void;
  signal: AbortSignal;
}

const MARK_PERIOD = 250;
/** After so many of them the reason is shown. */
const WAITS_REPORTED = 80;
const REFUSED_PERIOD = 5000;
const COMPARE_PERIOD = 10_000;
const METADATA_MS = 10_000;

/** The layout of the log as this normaliser knows it. */
export class KnownLayout {
  readonly #options: LayoutOptions;
  #layout: LogLayout;
  #problem: string | undefined;

  constructor(options: LayoutOptions) {
    this.#options = options;
    this.#layout = options.layout;
    void this.#compare();
  }

  /** Partitions in use: those of a growth from its marks on. */
  get partitions(): number {
    return this.#layout.history.at(-1)?.partitions ?? this.#layout.partitions;
  }

  /**
   * The layout of a partition that was assigned; waits while the partition was created without
   * `./ravand log grow`. Rejects when the signal aborts.
   */
  async open(
    partition: number,
    signal: AbortSignal,
  ): Promise<{ epochOf: EpochOf; placement: Placement }> {
    while (partition >= this.#announced) {
      await this.#read(signal);
      if (partition < this.#announced) break;
      this.#report(new Map([[this.#options.names.raw, partition + 1]]));
      await delay(REFUSED_PERIOD, signal);
    }
    let epochs = await this.#epochs(signal);
    await this.#refreshProducer(signal);
    return {
      // A mark changes them.
      epochOf: (of, offset) => epochs.at(of, offset),
      placement: {
        hasGrown: () => this.#layout.history.length > 1,
        partitionsAt: (offset) => partitionsAt(this.#layout, epochs.at(partition, offset)),
        passMark: async (marker, interrupted) => {
          epochs = await this.#marked(marker, interrupted);
          await this.#refreshProducer(interrupted);
        },
      },
    };
  }

  get #announced(): number {
    return Math.max(this.#layout.created, this.#layout.nextPartitions ?? 0);
  }

  /** Waits until everything before the marks is processed, by the readers of its rows too. */
  async #marked({ epoch, partitions }: LayoutMarker, signal: AbortSignal): Promise<TopicEpochs> {
    const { reasons, log } = this.#options;
    for (let waits = 0; ; waits++) {
      await this.#read(signal);
      if (isInForce(this.#layout, epoch)) break;
      if (waits === WAITS_REPORTED)
        reasons.set(
          'marks',
          `a growth to ${partitions} partitions is not complete: watch it, or complete it with ./ravand log grow --partitions ${partitions}`,
        );
      await delay(MARK_PERIOD, signal);
    }
    reasons.clear('marks');
    log.info({ epoch, partitions }, 'the log has another number of partitions from here on');
    return this.#epochs(signal);
  }

  async #epochs(signal: AbortSignal): Promise<TopicEpochs> {
    const { log, database, names } = this.#options;
    return retryUntilAborted(
      { log, signal, code: 'postgres_unreachable', what: 'reading the epochs of the log' },
      () => readEpochs(database, names.raw),
    );
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { log, database } = this.#options;
    const read = await retryUntilAborted(
      { log, signal, code: 'postgres_unreachable', what: 'reading the layout of the log' },
      () => readLayout(database),
    );
    if (read) this.#layout = read;
  }

  /** The client learns of new partitions with the metadata, once for all that wait for it. */
  async #refreshProducer(signal: AbortSignal): Promise<void> {
    const { log, producer, names } = this.#options;
    await retryUntilAborted(
      { log, signal, code: 'waiting', what: 'reading the partitions of the topics' },
      () =>
        sharedRead(this, 'partitions', async () => {
          for (const topic of [names.raw, names.normalised, names.verdicts])
            await producer.partitions(topic, METADATA_MS);
        }),
    );
  }

  /** Compares what Kafka has with what is recorded, until the process stops. */
  async #compare(): Promise<void> {
    const { signal, producer, names, log } = this.#options;
    while (!signal.aborted) {
      try {
        await delay(COMPARE_PERIOD, signal);
        const found = new Map<string, number>();
        for (const topic of [names.raw, names.normalised, names.verdicts])
          found.set(topic, await producer.partitions(topic, METADATA_MS));
        await this.#read(signal);
        this.#report(found);
      } catch (error) {
        log.debug({ err: error }, 'the partitions cannot be compared');
      }
    }
  }

  #report(found: ReadonlyMap<string, number>): void {
    const { log, reasons, onMismatch } = this.#options;
    const problem = partitionsProblem(this.#layout, found);
    if (problem === this.#problem) return;
    this.#problem = problem;
    onMismatch(problem !== undefined);
    if (problem === undefined) reasons.clear('partitions');
    else {
      reasons.set('partitions', problem);
      log.error({ code: 'partitions_changed', recorded: this.#layout.partitions }, problem);
    }
  }
}
