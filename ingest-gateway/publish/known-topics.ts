import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../platform/log.ts';

/** What Kafka says about the topics; `limits` is undefined when it did not say them. */
export interface TopicFacts {
  partitions: ReadonlyMap<string, number>;
  /** Largest record batch by topic, bytes. */
  limits: ReadonlyMap<string, number> | undefined;
}

interface KnownTopicsOptions {
  folder: string;
  /** EVENTS_PARTITIONS. */
  fallback: number;
  log: Log;
  /** Bytes that a record of this gateway may have. */
  largestRecord: number;
  /** Unix ms; a refused size is believed for a limited time. */
  now?: () => number;
}

/** A batch with one record is at most so many bytes larger than its value. */
const BATCH_OVERHEAD = 512;
/** A record was refused although the known limit allows it: such records are held off so long. */
const REFUSAL_BELIEVED_FOR = 600_000;
const LIMITS = 'limits';

/**
 * Partition counts and record limits of the topics, learnt from Kafka and stored in the spool's
 * folder: a gateway that starts while Kafka is unreachable chooses the same partitions as before,
 * and accepts no record that Kafka would refuse. Until Kafka has been reached once,
 * EVENTS_PARTITIONS applies, and no limit.
 */
export class KnownTopics {
  readonly #options: KnownTopicsOptions;
  readonly #path: string;
  #partitions: ReadonlyMap<string, number> = new Map();
  #limits: ReadonlyMap<string, number> = new Map();
  /** Sizes that Kafka refused in spite of the limits. */
  readonly #refused = new Map<string, { bytes: number; until: number }>();
  #loggedLimit = '';

  constructor(options: KnownTopicsOptions) {
    this.#options = options;
    this.#path = join(options.folder, 'partitions.json');
  }

  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch(() => '{}');
    try {
      const stored = JSON.parse(text) as Record<string, unknown>;
      this.#partitions = numbersOf(stored);
      this.#limits = numbersOf(stored[LIMITS] ?? {});
    } catch {
      this.#options.log.warn(
        { path: this.#path },
        'the stored partition counts cannot be read; EVENTS_PARTITIONS applies until Kafka is reached',
      );
    }
  }

  partitionsOf = (topic: string): number => this.#partitions.get(topic) ?? this.#options.fallback;

  /** Partitions of all known topics. */
  get partitions(): number {
    return [...this.#partitions.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Bytes of the largest value that Kafka accepts; Infinity when that is unknown. */
  limitOf = (topic: string): number => {
    const known = (this.#limits.get(topic) ?? Infinity) - BATCH_OVERHEAD;
    const refused = this.#refused.get(topic);
    return refused && refused.until > this.#now() ? Math.min(known, refused.bytes - 1) : known;
  };

  /** The known limits by topic, and the size they should have. */
  get limits(): { known: readonly (readonly [topic: string, bytes: number])[]; needed: number } {
    return {
      known: [...this.#limits.keys()].map((topic) => [topic, this.limitOf(topic)]),
      needed: this.#options.largestRecord,
    };
  }

  /** The smallest limit of a topic; Infinity when none is known. */
  get smallestLimit(): number {
    return Math.min(Infinity, ...this.limits.known.map(([, bytes]) => bytes));
  }

  /** True while Kafka refuses records that this gateway may have to publish. */
  get isTooLow(): boolean {
    return this.smallestLimit < this.#options.largestRecord;
  }

  learn = ({ partitions, limits }: TopicFacts): void => {
    const before = this.#stored();
    this.#partitions = partitions;
    for (const [topic, bytes] of limits ?? [])
      if (bytes > (this.#limits.get(topic) ?? 0)) this.#refused.delete(topic);
    if (limits) this.#limits = limits;
    this.#logLowLimits();
    const text = this.#stored();
    if (text === before) return;
    const draft = `${this.#path}.new`;
    writeFile(draft, text, { flush: true })
      .then(() => rename(draft, this.#path))
      .catch((error: unknown) =>
        this.#options.log.warn(
          { err: error },
          'the partition counts and limits of the topics could not be stored',
        ),
      );
  };

  learnLimits(limits: ReadonlyMap<string, number>): void {
    this.learn({ partitions: this.#partitions, limits });
  }

  /** Kafka refused a record with a value of so many bytes that was alone in its batch. */
  learnRefusal(topic: string, bytes: number): void {
    const until = this.#now() + REFUSAL_BELIEVED_FOR;
    this.#refused.set(topic, { bytes: Math.min(bytes, this.limitOf(topic) + 1), until });
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  #stored(): string {
    return JSON.stringify({
      ...Object.fromEntries(this.#partitions),
      [LIMITS]: Object.fromEntries(this.#limits),
    });
  }

  /** Once for each set of limits. */
  #logLowLimits(): void {
    const { log, largestRecord } = this.#options;
    const low = this.limits.known.filter(([, bytes]) => bytes < largestRecord);
    const text = low.map(([topic, bytes]) => `${topic} ${bytes}`).join(', ');
    if (text === this.#loggedLimit) return;
    this.#loggedLimit = text;
    if (low.length > 0)
      log.error(
        { code: 'record_limit_too_low', limits: Object.fromEntries(low), needed: largestRecord },
        `Kafka accepts smaller records than a request may become (${text}; needed are ${largestRecord} bytes): requests above the limit are answered 503. Raise max.message.bytes of the topics, or lower MAX_BODY_BYTES`,
      );
    else log.info('the record limits of all topics are high enough');
  }
}

function numbersOf(stored: unknown): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(stored as Record<string, unknown>).filter(
      (entry): entry is [string, number] => Number.isSafeInteger(entry[1]) && Number(entry[1]) > 0,
    ),
  );
}
