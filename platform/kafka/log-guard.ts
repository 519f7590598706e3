import { delay } from '../backoff.ts';
import type { Log } from '../log.ts';
import { decisiveFor, FIRST_RECORD, isOf } from '../log/decisive.ts';
import {
  contradictionOf,
  evidenceOf,
  recordToRead,
  type Contradiction,
  type LogEnds,
  type RecordEvidence,
} from '../log/evidence.ts';
import {
  readAdvances,
  readEvidence,
  writeEvidence,
  type NewEvidence,
  type StoredEvidence,
  type TopicPartition,
} from '../log/evidence-store.ts';
import { requireCurrentNames } from '../log/topic-names.ts';
import type { Database } from '../postgres/pool.ts';
import { retryUntilAborted } from '../retry-until-aborted.ts';
import type { ConsumedMessage } from './consumer-types.ts';
import type { LogProbe } from './log-probe.ts';
import { sharedRead } from '../shared-read.ts';

/** How often a refused partition is checked again, ms; jitter is added. */
const RECHECK_MS = 3000;
/** A refusal is logged again after this many checks. */
const LOG_EVERY = 20;

export interface LogGuardOptions {
  database: Pick<Database, 'query'>;
  probe: Pick<LogProbe, 'ends' | 'evidenceAt'>;
  log: Log;
  /** Consumer group. */
  reader: string;
  topic: string;
  /** What the reader writes when it reads a partition: it must still be in the log. */
  writes?: ((partition: number) => readonly TopicPartition[]) | undefined;
  /** The log under a running partition is another one: open the partition again. */
  onContradiction: (partition: number) => void;
  /** Aborts when the process ends. */
  closing: AbortSignal;
}

const NOTHING = { low: 0, high: 0 };

/**
 * Compares the log with what this reader has processed (platform/log/evidence.ts), and with what
 * the reader that got furthest has: before a partition is read, and after each loss of a
 * connection. A partition whose log went back is refused until `./ravand log advance-epoch` was
 * run; the others continue.
 */
export class LogGuard {
  readonly #options: LogGuardOptions;
  readonly #refused = new Map<number, string>();
  /** The newest evidence of each open partition; undefined: nothing was read since its start. */
  readonly #newest = new Map<number, RecordEvidence | undefined>();
  #dirty = new Map<string, NewEvidence>();
  /** The newest epoch of any partition when each open partition was compared. */
  readonly #epochs = new Map<string, number>();
  /** First records that are written next. */
  readonly #firsts = new Map<string, NewEvidence>();
  /** Partitions whose evidence is read next. */
  readonly #wanted: TopicPartition[] = [];
  #flushing: Promise<void> | undefined;
  #written: Promise<void> = Promise.resolve();
  /** Nothing is written before the log has been compared again. */
  #compared: Promise<void> = Promise.resolve();
  /** A comparison that has not begun covers everything that was read and appended so far. */
  #isCovered = false;

  constructor(options: LogGuardOptions) {
    this.#options = options;
  }

  /** Why partitions are not processed, one sentence each: for /readyz. */
  problems(): string[] {
    return [...this.#refused.values()];
  }

  refused(): number[] {
    return [...this.#refused.keys()];
  }

  /**
   * Resolves with the ends of the partition once the log agrees with what was processed and holds
   * `from`. Rejects when `fenced` aborts.
   */
  async admit(
    partition: number,
    from: () => Promise<number | undefined>,
    fenced: AbortSignal,
  ): Promise<LogEnds & { from: number | undefined }> {
    const { log, topic } = this.#options;
    const retrying = { log, signal: fenced, code: 'log_check', what: `comparing ${topic}` };
    try {
      for (let refusals = 0; ; refusals++) {
        const found = await retryUntilAborted(retrying, async () => {
          // The partition is assigned already: the command that replaces a topic sees this member.
          await requireCurrentNames(this.#options.database);
          return this.#inspect(partition, await from());
        });
        if (found.refusal === undefined) {
          this.#newest.set(partition, this.#newest.get(partition));
          this.#isCovered = false;
          return found;
        }
        if (refusals % LOG_EVERY === 0)
          log.error({ code: 'log_went_back', topic, partition }, found.refusal);
        this.#refused.set(partition, found.refusal);
        await delay(RECHECK_MS * (0.5 + Math.random()), fenced);
      }
    } finally {
      this.#refused.delete(partition);
    }
  }

  /** The records up to this one are about to be processed. */
  seen(partition: number, record: ConsumedMessage): void {
    const { topic } = this.#options;
    const evidence = evidenceOf(record);
    this.#newest.set(partition, evidence);
    this.appended({ topic, partition, ...evidence });
  }

  /** This reader appended a record to a topic that it writes. */
  appended(of: TopicPartition & RecordEvidence): void {
    this.#isCovered = false;
    const key = keyOf(of);
    if ((this.#dirty.get(key)?.next ?? -1) < of.next)
      this.#dirty.set(key, { ...of, epoch: this.#epochs.get(key) });
  }

  /** Resolves when the evidence given so far is stored. Rejects only when the process ends. */
  flush(): Promise<void> {
    if (this.#dirty.size === 0) return this.#written;
    this.#flushing ??= this.#written
      .then(() => this.#compared)
      .then(() => {
        this.#flushing = undefined;
        return (this.#written = this.#write(this.#takeDirty()));
      });
    return this.#flushing;
  }

  /** The partition is revoked, or opened again. */
  forget(partition: number): void {
    this.#newest.delete(partition);
  }

  /** A connection was lost: the broker may return with another log. */
  suspect(): void {
    if (this.#isCovered) return;
    const [newest, dirty] = [new Map(this.#newest), this.#takeDirty()];
    if (newest.size === 0 && dirty.length === 0) return;
    this.#isCovered = true;
    this.#compared = this.#compared.then(() => {
      this.#isCovered = false;
      return this.#compareAgain(newest, dirty);
    });
    // `flush` reports it.
    this.#compared.catch(() => undefined);
  }

  async #compareAgain(
    newest: ReadonlyMap<number, RecordEvidence | undefined>,
    dirty: readonly NewEvidence[],
  ): Promise<void> {
    const { database, reader, log, topic, closing, onContradiction } = this.#options;
    if (dirty.length > 0) await this.#write(dirty);
    const retrying = { log, signal: closing, code: 'log_check', what: `comparing ${topic}` };
    const open = [...newest.keys()].map((partition) => ({ topic, partition }));
    const stored = await retryUntilAborted(retrying, () => readEvidence(database, open));
    const compare = async ([partition, last]: [number, RecordEvidence | undefined]) => {
      const of = { topic, partition };
      const own = last ? [{ ...of, reader, ...last }] : [];
      const known = decisiveFor(reader, of, [...stored, ...own]);
      const found = await retryUntilAborted(retrying, () => this.#contradiction(of, known));
      if (!found) return;
      this.#newest.delete(partition);
      this.#dirty.delete(keyOf(of));
      onContradiction(partition);
    };
    // Together: the probe reads records of many partitions at once.
    await Promise.all([...newest].map(compare));
  }

  #takeDirty(): NewEvidence[] {
    const dirty = [...this.#dirty.values()];
    this.#dirty = new Map();
    return dirty;
  }

  #write(dirty: readonly NewEvidence[]): Promise<void> {
    const { database, log, reader, closing } = this.#options;
    return retryUntilAborted(
      { log, signal: closing, code: 'postgres_unreachable', what: 'recording log positions' },
      () => writeEvidence(database, reader, dirty),
    );
  }

  async #inspect(
    partition: number,
    from: number | undefined,
  ): Promise<LogEnds & { from: number | undefined; refusal?: string }> {
    const { database, topic, reader, writes, probe } = this.#options;
    const of = { topic, partition };
    const { epoch, isUnfinished } = await readAdvances(database);
    if (isUnfinished)
      return {
        ...{ ...NOTHING, from },
        refusal: `./ravand log advance-epoch was not finished: run it again`,
      };
    const wanted = [of, ...(writes?.(partition) ?? [])];
    const stored = await this.#evidenceAbout(wanted);
    const first = stored.filter((one) => one.reader === FIRST_RECORD && isOf(one, of));
    for (const one of wanted) {
      const known = decisiveFor(reader, one, stored);
      const refusal = await this.#contradiction(one, one === of ? [...known, ...first] : known);
      if (refusal !== undefined) return { ...NOTHING, from, refusal };
    }
    const ends = await probe.ends(of);
    if (from !== undefined && from > ends.high) {
      const found = { kind: 'ahead', position: from, end: ends.high } as const;
      return { ...ends, from, refusal: refusalOf(of, reader, found) };
    }
    if (first.length === 0 && ends.low === 0 && ends.high > 0) {
      const evidence = await probe.evidenceAt(of, 0);
      if (evidence) await this.#writeFirst({ ...of, ...evidence, epoch });
    }
    for (const one of wanted) this.#epochs.set(keyOf(one), epoch);
    return { ...ends, from };
  }

  /** Writes it with the first records of other partitions that are found meanwhile. */
  #writeFirst(first: NewEvidence): Promise<void> {
    this.#firsts.set(keyOf(first), first);
    return sharedRead(this, 'firsts', () => {
      const found = [...this.#firsts.values()];
      this.#firsts.clear();
      return writeEvidence(this.#options.database, FIRST_RECORD, found);
    });
  }

  /** Evidence about these partitions, and about others that are asked for meanwhile. */
  #evidenceAbout(wanted: readonly TopicPartition[]): Promise<StoredEvidence[]> {
    this.#wanted.push(...wanted);
    return sharedRead(this, 'evidence', () =>
      readEvidence(this.#options.database, this.#wanted.splice(0)),
    );
  }

  /** The sentence about the first evidence that the log contradicts. */
  async #contradiction(
    of: TopicPartition,
    known: readonly StoredEvidence[],
  ): Promise<string | undefined> {
    for (const evidence of known) {
      const found = await contradictionIn(this.#options.probe, of, evidence);
      if (found) return refusalOf(of, evidence.reader, found);
    }
    return undefined;
  }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

/** Compares evidence with the log as it is now. Rejects without a broker. */
export async function contradictionIn(
  probe: Pick<LogProbe, 'ends' | 'evidenceAt'>,
  of: TopicPartition,
  evidence: RecordEvidence,
): Promise<Contradiction | undefined> {
  const ends = await probe.ends(of);
  const offset = recordToRead(evidence, ends);
  const found = offset === undefined ? undefined : await probe.evidenceAt(of, offset);
  return contradictionOf(evidence, ends, found);
}

/** One sentence for /readyz, logs and commands. */
export function refusalOf(
  { topic, partition }: TopicPartition,
  reader: string,
  found: Contradiction,
): string {
  const where = `partition ${partition} of ${topic} went back`;
  const next =
    'nothing of it is processed until you run ./ravand log advance-epoch; new records wait in the log';
  if (reader === FIRST_RECORD)
    return `${where}: its first record is another one than before (the topic was recreated); ${next}`;
  return found.kind === 'ahead'
    ? `${where}: ${reader} is at offset ${found.position}, and the log ends at ${found.end}; ${next}`
    : `${where}: ${reader} is at offset ${found.position}, and the record before it is another one; ${next}`;
}
