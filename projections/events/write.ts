import type { Log } from '../../platform/log.ts';
import type { Outcome } from './classify.ts';
import { partitionPositionKey } from '../../schemas/log-position.ts';
import { retryUntilAborted, pause } from '../../platform/retry-until-aborted.ts';
import type { Row } from './rows.ts';
import type { Warehouse } from './warehouse.ts';

/** A batch as it is inserted: `datums` of `count` rows, without having decoded them. */
export interface Batch {
  token: string;
  partition: number;
  count: number;
  datums: readonly Buffer[];
  /** Decodes the rows, in order: needed only when something went wrong. */
  rows(): readonly Row[];
}

/** A row that ClickHouse will never take, and why. */
export interface Refused {
  row: Row;
  code: string;
  detail: string;
}

export interface WriteOptions {
  warehouse: Warehouse;
  log: Log;
  /** Aborts when the partition is taken away. */
  signal: AbortSignal;
  /** Epoch of the owner: part of the query ids. */
  ownerEpoch: number;
  /**
   * Rejects when the partition has another owner now. Asked again before everything that comes
   * late.
   */
  confirm(): Promise<void>;
  onSettle(): void;
  /**
   * Whether so many rows are refused that the rest of the batch need not be tried row by row: the
   * table is broken, not the rows. Absent: never.
   */
  isHopeless?(decided: { processed: number; dead: number }): boolean;
}

/**
 * Rows live this long after their own timestamp, s (DDL 0001: TTL of `events`); older ones may be
 * gone already and count as stored.
 */
export const TTL_SECONDS = 400 * 86_400;

/**
 * The deduplication log can claim a block that a crash kept from being stored; each round goes
 * round it with another token. More than these are a defect.
 */
const MOST_ROUNDS = 6;

/**
 * Stores a batch once, however often it is repeated and whatever was under way before
 * (EXACTLY-ONCE.md). Resolves with the number of rows that are stored and those that ClickHouse
 * refuses for good. `hopeless`: it stopped looking, and rows that are neither may be left: do the
 * whole once more. Waits as long as ClickHouse is away; rejects when the partition is fenced or has
 * another owner.
 */
export async function storeOnce(
  options: WriteOptions,
  batch: Batch,
  repeat: boolean,
): Promise<{ stored: number; refused: Refused[]; hopeless: boolean }> {
  if (batch.count === 0) return { stored: 0, refused: [], hopeless: false };
  const writer = new Writer(options, batch);
  if (!repeat && (await writer.insertFresh()))
    return { stored: batch.count, refused: [], hopeless: false };
  options.onSettle();
  options.log.info(
    { token: batch.token, repeat },
    'looking at ClickHouse for what is stored of a batch before it is repeated',
  );
  const { refused, hopeless } = await writer.settle();
  return { stored: hopeless ? 0 : batch.rows().length - refused.length, refused, hopeless };
}

/** The rows `from..to` of the batch, under a token that says so. */
interface Node {
  token: string;
  from: number;
  to: number;
}

class Writer {
  readonly #options: WriteOptions;
  readonly #batch: Batch;
  #attempts = 0;
  #failures = 0;

  constructor(options: WriteOptions, batch: Batch) {
    this.#options = options;
    this.#batch = batch;
  }

  /**
   * The way of nearly every batch: one insert, nothing decoded. Answers false when anything but a
   * plain success came back.
   */
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

  async settle(): Promise<{ refused: Refused[]; hopeless: boolean }> {
    const refused: Refused[] = [];
    let processed = 0;
    const rows = this.#batch.rows();
    const waiting: Node[] =
      rows.length === 0 ? [] : [{ token: this.#batch.token, from: 0, to: rows.length }];
    for (let node = waiting.pop(); node; node = waiting.pop()) {
      const verdict = await this.#settleNode(node, rows.slice(node.from, node.to));
      if (!verdict) {
        processed += node.to - node.from;
        continue;
      }
      const [only] = node.to - node.from === 1 ? rows.slice(node.from, node.to) : [];
      if (!only) {
        waiting.push(...this.#halves(node));
        continue;
      }
      refused.push({ row: only, ...verdict });
      processed++;
      if (this.#options.isHopeless?.({ processed, dead: refused.length }) === true)
        return { refused, hopeless: true };
    }
    return { refused, hopeless: false };
  }

  /** Answers undefined when every row is stored, or why ClickHouse refuses what is missing. */
  async #settleNode(
    node: Node,
    rows: readonly Row[],
  ): Promise<{ code: string; detail: string } | undefined> {
    for (let round = 0, waits = 0; round < MOST_ROUNDS;) {
      const missing = await this.#missing(rows);
      if (missing.length === 0) return undefined;
      await this.#options.confirm();
      const token = round === 0 ? node.token : `${node.token}+${round}`;
      const datums = missing.map(({ datum }) => datum);
      const outcome = await this.#insert(token, datums.length, datums);
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
      `rows of ${node.token} stay missing although ClickHouse stored them ${MOST_ROUNDS} times`,
    );
  }

  /**
   * First nothing of this batch runs any more, then it is looked: whatever comes later carries a
   * token that is either known by then, or is about to be used for exactly these rows.
   */
  async #missing(rows: readonly Row[]): Promise<Row[]> {
    const { warehouse, log, signal } = this.#options;
    await this.#options.confirm();
    return retryUntilAborted(
      { log, signal, code: 'clickhouse_unreachable', what: 'reading back from ClickHouse' },
      async () => {
        await warehouse.endQueries(`${this.#batch.token}:`);
        const { keys, now } = await warehouse.stored(this.#batch.partition, rows);
        return rows.filter(
          ({ mark, timestamp }) =>
            !keys.has(partitionPositionKey(mark)) &&
            Math.floor(timestamp / 1000) + TTL_SECONDS > now,
        );
      },
    );
  }

  async #insert(token: string, count: number, datums: readonly Buffer[]): Promise<Outcome> {
    const { warehouse, signal, ownerEpoch } = this.#options;
    signal.throwIfAborted();
    const queryId = `${this.#batch.token}:${token.slice(this.#batch.token.length)}:${ownerEpoch}:${this.#attempts++}`;
    const outcome = await warehouse.insert({ token, queryId, count, datums }, signal);
    signal.throwIfAborted();
    this.#report(outcome, token);
    return outcome;
  }

  #report(outcome: Outcome, token: string): void {
    const { log } = this.#options;
    if (outcome.kind === 'refused')
      log.info({ code: 'insert_refused', token, clickhouse: outcome.code }, outcome.detail);
    if (outcome.kind !== 'unsent' && outcome.kind !== 'uncertain') return;
    // The first failure says that it began, every tenth that it lasts.
    if (this.#failures++ % 10 !== 0) return;
    const { message } = outcome.error;
    log.warn(
      { code: 'insert_failed', token, outcome: outcome.kind, failures: this.#failures },
      `ClickHouse did not store a batch (${message}); trying again with backoff`,
    );
  }

  #halves({ token, from, to }: Node): Node[] {
    const middle = from + Math.ceil((to - from) / 2);
    const root = this.#batch.token;
    return [
      { token: `${root}/${middle}-${to}`, from: middle, to },
      { token: `${root}/${from}-${middle}`, from, to: middle },
    ].filter((half) => half.to > half.from && half.token !== token);
  }
}
