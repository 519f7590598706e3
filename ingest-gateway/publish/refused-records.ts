import type { LogRecord } from '../../ingest/log-record.ts';
import type { Log } from '../../platform/log.ts';
import type { Quarantine } from '../spool/quarantine.ts';
import { decodePayload } from '../spool/spooled-record.ts';
import type { KnownTopics } from './known-topics.ts';

interface RefusedRecordsOptions {
  quarantine: Quarantine;
  topics: KnownTopics;
  publish: (records: readonly LogRecord[]) => Promise<readonly LogRecord[]>;
  /** Reads the record limits of the topics. */
  readLimits: (() => Promise<ReadonlyMap<string, number>>) | undefined;
  /** Called when the limits may have changed, before records are published. */
  onLimits: () => void;
  log: Log;
}

/** While limits are too low they are read again this often, ms. */
const LIMITS_EVERY = 60_000;

/** Publishes the records in quarantine that Kafka refused for their size, once it accepts them. */
export class RefusedRecords {
  readonly #options: RefusedRecordsOptions;
  #isAdopting = false;
  #wasConnected = false;
  #limitsReadAt = 0;

  constructor(options: RefusedRecordsOptions) {
    this.#options = options;
  }

  /**
   * The limits have been read. Where Kafka does not say them, the records are tried once for each
   * start of the process.
   */
  connected(): void {
    this.#options.onLimits();
    const isFirst = !this.#wasConnected;
    this.#wasConnected = true;
    const { topics, log } = this.#options;
    if (this.#isAdopting || (!isFirst && topics.limits.known.length === 0)) return;
    this.#isAdopting = true;
    this.#adopt()
      .catch((error: unknown) =>
        log.warn({ err: error }, 'the records in quarantine could not be read'),
      )
      .finally(() => (this.#isAdopting = false));
  }

  /** Reads limits that are too low again, now and then. @param clock ms */
  check(clock: number): void {
    const { readLimits, topics } = this.#options;
    if (!readLimits || !topics.isTooLow || clock - this.#limitsReadAt < LIMITS_EVERY) return;
    this.#limitsReadAt = clock;
    readLimits().then(
      (limits) => {
        topics.learnLimits(limits);
        this.connected();
      },
      () => undefined,
    );
  }

  /**
   * One record after the other; each is removed when it is durable. One that is published twice, by
   * a kill in between, has the same sequence number, and the normaliser drops the copy.
   */
  async #adopt(): Promise<void> {
    const { quarantine, topics, log } = this.#options;
    let adopted = 0;
    for (const name of await quarantine.refused()) {
      const record = decodePayload(await quarantine.read(name));
      if (!record || record.value.length > topics.limitOf(record.topic)) continue;
      const partition = record.partition % topics.partitionsOf(record.topic);
      if ((await this.#options.publish([{ ...record, partition }])).length > 0) continue;
      await quarantine.remove(name);
      adopted++;
    }
    if (adopted > 0)
      log.info(
        { records: adopted },
        'records were published that Kafka had refused for their size',
      );
  }
}
