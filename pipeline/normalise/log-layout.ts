import type { LayoutMarker } from '../../events/raw/layout-marker.ts';
import type { EpochOf } from '../../events/raw/record-claims.ts';
import { delay } from '../../platform/backoff.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import { readEpochs, type TopicEpochs } from '../../platform/log/epochs.ts';
import {
  partitionsAt,
  partitionsProblem,
  readLayout,
  type LogLayout,
} from '../../platform/log/layout.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { Names } from './config.ts';
import type { Placement } from './placement.ts';
import type { Reasons } from './reasons.ts';
import type { KnownEnds } from './sweep-progress.ts';

interface LayoutOptions {
  database: Database;
  producer: Pick<LogProducer, 'partitions'>;
  names: Names;
  log: Log;
  reasons: Reasons;
  /** The layout at the start. */
  layout: LogLayout;
  /** Ends of events.raw when they were last read. */
  knownEnds: () => KnownEnds | undefined;
  onMismatch: (is: boolean) => void;
  signal: AbortSignal;
}

const MARK_PERIOD = 250;
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

  /** Waits until every partition is marked: what is forwarded then finds the same number there. */
  async #marked({ epoch, partitions }: LayoutMarker, signal: AbortSignal): Promise<TopicEpochs> {
    const { reasons, log } = this.#options;
    for (let waits = 0; ; waits++) {
      const epochs = await this.#epochs(signal);
      const isMarked = Array.from({ length: partitions }, (_, at) => at).every(
        (at) => epochs.newest(at) >= epoch,
      );
      if (isMarked) {
        await this.#read(signal);
        reasons.clear('marks');
        log.info({ epoch, partitions }, 'the log has another number of partitions from here on');
        return epochs;
      }
      if (waits === 20)
        reasons.set(
          'marks',
          `a growth to ${partitions} partitions stopped half way: complete it with ./ravand log grow --partitions ${partitions}`,
        );
      await delay(MARK_PERIOD, signal);
    }
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

  /** The client learns of new partitions with the metadata. */
  async #refreshProducer(signal: AbortSignal): Promise<void> {
    const { log, producer, names } = this.#options;
    await retryUntilAborted(
      { log, signal, code: 'waiting', what: 'reading the partitions of the topics' },
      async () => {
        for (const topic of [names.raw, names.normalised, names.verdicts])
          await producer.partitions(topic, METADATA_MS);
      },
    );
  }

  async #compare(): Promise<void> {
    const { signal, knownEnds, names } = this.#options;
    while (!signal.aborted) {
      const ends = knownEnds()?.ends;
      try {
        if (ends) {
          await this.#read(signal);
          this.#report(new Map([[names.raw, ends.size]]));
        }
        await delay(COMPARE_PERIOD, signal);
      } catch {
        // The process stops.
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
