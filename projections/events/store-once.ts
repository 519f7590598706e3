import { MAX_RETENTION_DAYS } from '../../events/retention.ts';
import type { Log } from '../../platform/log.ts';
import { pause, retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { partitionPositionKey } from '../../schemas/log-position.ts';
import type { EncodedRow } from './decode.ts';
import type { EventsTable, InsertOutcome } from './events-table.ts';
import type { InsertBatch } from './insert-batch.ts';

/** A row that ClickHouse always refuses, and why. */
export interface RefusedRow {
  row: EncodedRow;
  code: string;
  detail: string;
}

export interface StoreOptions {
  eventsTable: EventsTable;
  log: Log;
  /** Aborts when the partition is revoked. */
  signal: AbortSignal;
  /** Fencing epoch of the owner: part of the query ids. */
  ownerEpoch: number;
  /** Rejects when the partition has another owner. Called before every late step. */
  confirm(): Promise<void>;
  /** Called when the outcome of the insert must be read back. */
  onRecover(): void;
  /**
   * Whether so many rows are refused that trying the rest row by row is useless, because the table
   * is broken and not the rows. Absent: never.
   */
  isHopeless?(decided: { processed: number; dead: number }): boolean;
}

export interface StoreResult {
  /** Rows that are stored. */
  stored: number;
  refused: RefusedRow[];
  /** Recovery stopped early: rows that are neither stored nor refused may be left. Repeat it. */
  hopeless: boolean;
}

/**
 * Rows are kept this long after their timestamp, s (DDL 0001: TTL of `events`). An older row may be
 * deleted already and counts as stored.
 */
export const TTL_SECONDS = MAX_RETENTION_DAYS * 86_400;

/**
 * After a crash the deduplication log may list a block that was never stored; each round retries
 * under another token. More rounds mean a defect.
 */
const MAX_ROUNDS = 6;

/**
 * Stores a batch exactly once, however often it is repeated and whatever inserts of it are in
 * flight (EXACTLY-ONCE.md). `repeat`: a former owner may have inserted it. Waits while ClickHouse
 * is unavailable; rejects when the signal aborts or the partition has another owner.
 */
export async function storeOnce(
  options: StoreOptions,
  batch: InsertBatch,
  repeat: boolean,
): Promise<StoreResult> {
  if (batch.count === 0) return { stored: 0, refused: [], hopeless: false };
  const writer = new BatchWriter(options, batch);
  if (!repeat && (await writer.insertFresh()))
    return { stored: batch.count, refused: [], hopeless: false };
  options.onRecover();
  options.log.info(
    { token: batch.token, repeat },
    'reading back which rows of a batch are stored before it is repeated',
  );
  return writer.recover();
}

/** The rows `from..to` of the batch, under a token that names the interval. */
interface Interval {
  token: string;
  from: number;
  to: number;
}

class BatchWriter {
  readonly #options: StoreOptions;
  readonly #batch: InsertBatch;
  #attempts = 0;
  #failures = 0;

  constructor(options: StoreOptions, batch: InsertBatch) {
    this.#options = options;
    this.#batch = batch;
  }

  /** The usual path: one insert, nothing decoded. False unless it plainly succeeded. */
  async insertFresh(): Promise<boolean> {
    const { token, count, datums } = this.#batch;
    for (let waits = 0; ; waits++) {
      const outcome = await this.#insert(token, count, datums);
      if (outcome.kind === 'stored') return true;
      if (outcome.kind !== 'unsent') return false;
      await pause(waits, this.#options.signal);
      await this.#options.confirm();
    }
  }

  /** Stores what is missing; halves an interval that is refused, down to single rows. */
  async recover(): Promise<StoreResult> {
    const rows = this.#batch.rows();
    const refused: RefusedRow[] = [];
    const pending: Interval[] =
      rows.length === 0 ? [] : [{ token: this.#batch.token, from: 0, to: rows.length }];
    let processed = 0;
    for (let interval = pending.pop(); interval; interval = pending.pop()) {
      const own = rows.slice(interval.from, interval.to);
      const refusal = await this.#storeMissing(interval.token, own);
      if (!refusal) {
        processed += own.length;
        continue;
      }
      const [row] = own;
      if (!row || own.length > 1) {
        pending.push(...this.#halves(interval));
        continue;
      }
      refused.push({ row, ...refusal });
      processed++;
      if (this.#options.isHopeless?.({ processed, dead: refused.length }) === true)
        return { stored: 0, refused, hopeless: true };
    }
    return { stored: rows.length - refused.length, refused, hopeless: false };
  }

  /** Returns undefined when every row is stored, or why ClickHouse refuses the missing ones. */
  async #storeMissing(
    token: string,
    rows: readonly EncodedRow[],
  ): Promise<{ code: string; detail: string } | undefined> {
    for (let round = 0, waits = 0; round < MAX_ROUNDS;) {
      const missing = await this.#missing(rows);
      if (missing.length === 0) return undefined;
      await this.#options.confirm();
      const datums = missing.map(({ datum }) => datum);
      const roundToken = round === 0 ? token : `${token}+${round}`;
      const outcome = await this.#insert(roundToken, datums.length, datums);
      switch (outcome.kind) {
        case 'stored':
          round++;
          break;
        case 'refused':
          return outcome;
        case 'unsent':
        case 'uncertain':
          await pause(waits++, this.#options.signal);
      }
    }
    throw new Error(
      `rows of ${token} are still missing after ClickHouse acknowledged them ${MAX_ROUNDS} times`,
    );
  }

  /**
   * Ends every insert of the batch first, then reads back. An insert that arrives later carries a
   * token that is either known by then or is about to be used for exactly these rows.
   */
  async #missing(rows: readonly EncodedRow[]): Promise<EncodedRow[]> {
    const { eventsTable, log, signal } = this.#options;
    await this.#options.confirm();
    return retryUntilAborted(
      { log, signal, code: 'clickhouse_unreachable', what: 'reading back from ClickHouse' },
      async () => {
        await eventsTable.endQueries(`${this.#batch.token}:`);
        const { keys, now } = await eventsTable.stored(this.#batch.partition, rows);
        return rows.filter(
          ({ position, timestamp }) =>
            !keys.has(partitionPositionKey(position)) &&
            Math.floor(timestamp / 1000) + TTL_SECONDS > now,
        );
      },
    );
  }

  async #insert(token: string, count: number, datums: readonly Buffer[]): Promise<InsertOutcome> {
    const { eventsTable, signal, ownerEpoch } = this.#options;
    signal.throwIfAborted();
    const { token: root, version } = this.#batch;
    const queryId = `${root}:${token.slice(root.length)}:${ownerEpoch}:${this.#attempts++}`;
    const outcome = await eventsTable.insert({ token, queryId, version, count, datums }, signal);
    signal.throwIfAborted();
    this.#logFailure(outcome, token);
    return outcome;
  }

  #logFailure(outcome: InsertOutcome, token: string): void {
    const { log } = this.#options;
    if (outcome.kind === 'refused')
      log.info({ code: 'insert_refused', token, clickhouse: outcome.code }, outcome.detail);
    if (outcome.kind !== 'unsent' && outcome.kind !== 'uncertain') return;
    // Logs the first failure, then every tenth.
    if (this.#failures++ % 10 !== 0) return;
    log.warn(
      { code: 'insert_failed', token, outcome: outcome.kind, failures: this.#failures },
      `ClickHouse did not store a batch (${outcome.error.message}); retrying with backoff`,
    );
  }

  #halves({ token, from, to }: Interval): Interval[] {
    const middle = from + Math.ceil((to - from) / 2);
    const root = this.#batch.token;
    return [
      { token: `${root}/${middle}-${to}`, from: middle, to },
      { token: `${root}/${from}-${middle}`, from, to: middle },
    ].filter((half) => half.to > half.from && half.token !== token);
  }
}
