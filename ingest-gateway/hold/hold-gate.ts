import type { LogRecord } from '../../ingest/log-record.ts';
import { backoffDelay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { decodePayload } from '../spool/spooled-record.ts';
import type { SpoolQueue } from '../spool/spool-queue.ts';
import type { SpooledFrame } from '../spool/read-cursor.ts';
import { evolveHold, splitBy, type HoldFact, type HoldPhase, type HoldState } from './evolve.ts';
import { heldRecord, releasedRecords } from './held-frame.ts';

export interface HoldOptions {
  initial: HoldState;
  /** The held queue of the spool. */
  queue: SpoolQueue;
  /** Publisher.publish: the records of one call are of one account. */
  publish: (records: readonly LogRecord[]) => Promise<readonly LogRecord[]>;
  /** True when the publisher holds nothing: all that it was given is in Kafka. */
  isDrained: () => boolean;
  /** Resolves when everything that is in events.raw now is normalised, and false when unknown. */
  isNormalised: () => Promise<boolean>;
  /** The layout that is followed now is another one: resolves when that is stored and usable. */
  onFollow: (state: HoldState) => Promise<void>;
  /** Bytes of the largest value that Kafka accepts. */
  limitOf: (topic: string) => number;
  log: Log;
  /** Between two looks at what a phase waits for, ms. */
  period?: number;
}

interface Waiting {
  records: readonly LogRecord[];
  resolve: (refused: readonly LogRecord[]) => void;
}

const PERIOD = 50;
/** Between two looks at the offsets of the normaliser, ms. */
const OFFSETS_PERIOD = 250;
const RETRY = { base: 100, cap: 2000 };
/** Held records that are published at once. */
const GROUP_BYTES = 1024 * 1024;
/** Below so many unread bytes new records wait in memory, or the held queue would never empty. */
const CAUGHT_UP_BYTES = 256 * 1024;
/** New records that may wait in memory meanwhile. */
const MEMORY_BYTES = 4 * 1024 * 1024;
const NONE: readonly LogRecord[] = [];

/**
 * Stands before the publisher. While the layout of the log changes, new records become durable in
 * the held queue of the spool, which is published afterwards, in order: the shell of `evolveHold`.
 */
export class HoldGate {
  readonly #options: HoldOptions;
  #state: HoldState;
  /** New records behind the last ones of the held queue. */
  #memory: Waiting[] = [];
  #memoryBytes = 0;
  #isCaughtUp = false;
  #isRunning = false;
  #isClosed = false;
  #failures = 0;
  /** What is wrong with the partitions that Kafka has, in one sentence. */
  problem: string | undefined;

  constructor(options: HoldOptions) {
    this.#options = options;
    this.#state = options.initial;
    void this.#run();
  }

  get phase(): HoldPhase {
    return this.#state.phase;
  }

  get state(): HoldState {
    return this.#state;
  }

  /** False: no layout is known, so the number of partitions is that of Kafka. */
  get isFollowing(): boolean {
    return this.#state.followed.generation > 0;
  }

  /** By how many partitions records are split. */
  get splitBy(): number {
    return splitBy(this.#state);
  }

  follow(layout: NonNullable<HoldState['read']>): void {
    this.#take({ fact: 'read', layout });
    void this.#run();
  }

  /** As Publisher.publish. */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    if (this.#state.phase === 'passing') return this.#options.publish(records);
    if (!this.#isCaughtUp) return this.#append(records);
    return new Promise((resolve) => {
      this.#memory.push({ records, resolve });
      for (const { value } of records) this.#memoryBytes += value.length;
      if (this.#memoryBytes > MEMORY_BYTES) this.#spoolMemory();
    });
  }

  /** New records go to the publisher or, while held, stay on disk for the next process. */
  close(): void {
    this.#isClosed = true;
    this.#spoolMemory();
  }

  #take(fact: HoldFact): void {
    const before = this.#state;
    this.#state = evolveHold(before, fact);
    if (this.#state.phase === before.phase) return;
    if (this.#state.phase === 'passing') this.#publishMemory();
    else if (this.#state.phase !== 'releasing') this.#spoolMemory();
    const { phase, read } = this.#state;
    this.#options.log.info(
      { code: 'layout_hold', phase, generation: read?.generation, partitions: read?.partitions },
      `the layout of the log changes: ${SENTENCES[phase]}`,
    );
  }

  /** Works through the phases until records pass, or the layout must be read again. */
  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (!this.#isClosed && !isWaiting(this.#state)) {
      try {
        await this.#step();
        this.#failures = 0;
      } catch (error) {
        const attempt = this.#failures++;
        if (attempt === 0)
          this.#options.log.warn(
            { err: error, code: 'layout_hold' },
            'held records cannot be released yet; trying again',
          );
        await pause(50 + backoffDelay({ ...RETRY, attempt, random: Math.random() }));
      }
    }
    this.#isRunning = false;
  }

  async #step(): Promise<void> {
    const { phase } = this.#state;
    if (phase === 'draining') {
      if (this.#options.isDrained()) this.#take({ fact: 'drained' });
      else await this.#wait();
    } else if (phase === 'waiting') {
      if (await this.#options.isNormalised()) this.#take({ fact: 'normalised' });
      else await pause(OFFSETS_PERIOD);
    } else if (phase === 'releasing') {
      await this.#options.onFollow(this.#state);
      await this.#release();
    }
  }

  #wait(): Promise<void> {
    return pause(this.#options.period ?? PERIOD);
  }

  #append(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    const by = this.splitBy;
    return new Promise((resolve) => {
      const refused: LogRecord[] = [];
      let left = records.length;
      if (left === 0) resolve(NONE);
      const done = (record: LogRecord, isDurable: boolean) => {
        if (!isDurable) refused.push(record);
        if (--left === 0) resolve(refused);
      };
      for (const record of records) {
        if (record.value.length > this.#options.limitOf(record.topic)) done(record, false);
        else
          this.#options.queue.append(heldRecord(record, by), (error) => {
            if (!error) record.onSpooled?.();
            done(record, error === undefined);
          });
      }
    });
  }

  #spoolMemory(): void {
    this.#isCaughtUp = false;
    const memory = this.#memory;
    this.#memory = [];
    this.#memoryBytes = 0;
    for (const { records, resolve } of memory) void this.#append(records).then(resolve);
  }

  #publishMemory(): void {
    const memory = this.#memory;
    this.#memory = [];
    this.#memoryBytes = 0;
    this.#isCaughtUp = false;
    for (const { records, resolve } of memory) void this.#options.publish(records).then(resolve);
  }

  /** Publishes the held queue, then what waits in memory; new records pass from then on. */
  async #release(): Promise<void> {
    const { queue } = this.#options;
    const reader = queue.startReading();
    const { followed } = this.#state;
    // A second change of the layout ends it; what is left stays in the queue.
    while (!this.#isClosed && this.#state.phase === 'releasing') {
      const frames = await reader.read(GROUP_BYTES);
      if (frames.length > 0) {
        await this.#publishFrames(frames, followed.partitions);
        await reader.acknowledge(frames);
      } else if (queue.isEmpty) {
        this.#pass();
        await queue.clear();
        return;
      } else await pause(1);
      this.#isCaughtUp ||= this.#isReleasing && queue.unreadBytes < CAUGHT_UP_BYTES;
    }
  }

  get #isReleasing(): boolean {
    return this.#state.phase === 'releasing' && !this.#isClosed;
  }

  /** No await between the check and the change of phase: a record could arrive in between. */
  #pass(): void {
    if (!this.#isReleasing) return;
    this.#take({ fact: 'released' });
  }

  async #publishFrames(frames: readonly SpooledFrame[], partitions: number): Promise<void> {
    for (const frame of frames) {
      if (decodePayload(frame.payload)) continue;
      throw new Error(
        `the held record at ${frame.start} of ${frame.segment.path} was written by another version of the gateway: start that version, or a later one`,
      );
    }
    const records = frames.map((frame) => {
      const held = decodePayload(frame.payload);
      return { frame, released: held ? releasedRecords(held, partitions) : [] };
    });
    const refused = await this.#publishByAccount(records.flatMap(({ released }) => released));
    if (refused.size === 0) return;
    for (const { frame, released } of records)
      for (const record of released) {
        if (!refused.delete(record)) continue;
        if (record.value.length <= this.#options.limitOf(record.topic))
          throw new Error('the publisher has no room for held records: look at the spool');
        await this.#options.queue.setAside(frame);
      }
  }

  /** Resolves with the refused records. Those of an account are published in order. */
  async #publishByAccount(records: readonly LogRecord[]): Promise<Set<LogRecord>> {
    const accounts = Map.groupBy(records, ({ accountId }) => accountId);
    const refused = [...accounts.values()].map((own) => this.#options.publish(own));
    return new Set((await Promise.all(refused)).flat());
  }
}

const SENTENCES: Record<HoldPhase, string> = {
  passing: 'new records go to Kafka again',
  draining: 'new records are kept in the spool until older ones are in Kafka',
  held: 'everything older is in Kafka; new records wait in the spool',
  waiting: 'new records wait until the normaliser has processed the older ones',
  releasing: 'the held records are published',
};

/** Nothing to do until the layout is read again. */
function isWaiting({ phase }: HoldState): boolean {
  return phase === 'passing' || phase === 'held';
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
