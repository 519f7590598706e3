import { partitionPositionKey } from '../../../schemas/log-position.ts';
import { splitRows, type EncodedRow } from '../decode.ts';
import type { EventsTable, Insert, InsertOutcome } from '../events-table.ts';
import { TTL_SECONDS } from '../store-once.ts';
import type { Choices } from './choices.ts';

/** A block with a row of this event is refused. */
export const POISON = 'poison';

/** The simulated clock, ms since the epoch. */
export const NOW = Date.UTC(2026, 10, 21);

interface Request {
  queryId: string;
  token: string;
  /** Undefined: the datums cannot be decoded. */
  rows: EncodedRow[] | undefined;
  /** Months whose token is in the deduplication log while their rows are not visible yet. */
  committing?: [string, EncodedRow[]][];
}

const UNCERTAIN: InsertOutcome = { kind: 'uncertain', error: new Error('connection reset') };

/**
 * The properties of ClickHouse that the sink relies on. A block is stored month by month, each
 * month atomically and under its token; after a crash the deduplication log may list a month that
 * was never stored. Requests can be lost, arrive late, outlive their client or lose their response.
 */
export class SimulatedClickhouse implements EventsTable {
  readonly #choices: Choices;
  /** How often each position is stored. */
  readonly counts = new Map<string, number>();
  readonly #deduplication = new Set<string>();
  #late: Request[] = [];
  #running: Request[] = [];

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  insert(insert: Insert): Promise<InsertOutcome> {
    const request = {
      queryId: insert.queryId,
      token: insert.token,
      rows: splitRows({
        version: insert.version,
        count: insert.count,
        rows: Buffer.concat(insert.datums),
      }),
    };
    this.#deliverSome();
    switch (this.#choices.next(14)) {
      case 13:
        return Promise.resolve({ kind: 'unsent', error: new Error('connection refused') });
      case 12:
        return Promise.resolve(UNCERTAIN);
      case 11:
        this.#late.push(request);
        return Promise.resolve(UNCERTAIN);
      case 10:
        this.#running.push(this.#choices.next(2) === 1 ? this.#begin(request) : request);
        return Promise.resolve(UNCERTAIN);
      case 9:
        this.#apply(request);
        return Promise.resolve(UNCERTAIN);
      case 8:
      case 7:
        this.#crashDuring(request);
        return Promise.resolve(UNCERTAIN);
      default:
        return Promise.resolve(
          this.#apply(request)
            ? { kind: 'stored' }
            : { kind: 'refused', code: 'INCORRECT_DATA', detail: 'poison' },
        );
    }
  }

  endQueries(prefix: string): Promise<void> {
    this.#deliverSome();
    if (this.#choices.chance(8)) return Promise.reject(new Error('ClickHouse is unavailable'));
    const matching = this.#running.filter(({ queryId }) => queryId.startsWith(prefix));
    this.#running = this.#running.filter((request) => !matching.includes(request));
    for (const request of matching) if (this.#choices.next(2) === 1) this.#apply(request);
    return Promise.resolve();
  }

  stored(
    _partition: number,
    rows: readonly EncodedRow[],
  ): Promise<{ keys: Set<string>; now: number }> {
    this.#deliverSome();
    if (this.#choices.chance(8)) return Promise.reject(new Error('ClickHouse is unavailable'));
    const keys = rows
      .map(({ position: mark }) => partitionPositionKey(mark))
      .filter((key) => (this.counts.get(key) ?? 0) > 0);
    this.#deliverSome();
    return Promise.resolve({ keys: new Set(keys), now: NOW / 1000 });
  }

  /** Delivers every request in flight. */
  deliverAll(): void {
    for (const request of [...this.#late.splice(0), ...this.#running.splice(0)])
      this.#apply(request);
  }

  #deliverSome(): void {
    for (const queue of [this.#late, this.#running]) {
      if (this.#choices.next(3) !== 1) continue;
      const request = queue.shift();
      if (request) this.#apply(request);
    }
  }

  /** A request between writing its token and writing its rows. */
  #begin(request: Request): Request {
    const committing = (this.#months(request) ?? []).filter(
      ([key]) => !this.#deduplication.has(key),
    );
    for (const [key] of committing) this.#deduplication.add(key);
    return { ...request, committing };
  }

  /** Returns false when the block is refused: then nothing of it is stored. */
  #apply(request: Request): boolean {
    for (const [, rows] of request.committing ?? []) this.#addRows(rows);
    if (request.committing) return true;
    const months = this.#months(request);
    for (const [key, rows] of months ?? []) this.#storeMonth(key, rows);
    return months !== undefined;
  }

  /**
   * kill -9 during an insert: some months are stored, the deduplication log may list one that is
   * not, and every connection is lost.
   */
  #crashDuring(request: Request): void {
    const months = this.#months(request) ?? [];
    const complete = this.#choices.next(months.length + 1);
    for (const [key, rows] of months.slice(0, complete)) this.#storeMonth(key, rows);
    const next = months[complete];
    if (next && this.#choices.next(2) === 1) this.#deduplication.add(next[0]);
    this.#late = [];
    this.#running = [];
  }

  #months({ rows, token }: Request): [string, EncodedRow[]][] | undefined {
    if (!rows || rows.some(({ event }) => event === POISON)) return undefined;
    const months = new Map<string, EncodedRow[]>();
    for (const row of rows) {
      const key = `${new Date(row.timestamp).toISOString().slice(0, 7)}_${token}`;
      months.set(key, [...(months.get(key) ?? []), row]);
    }
    return [...months];
  }

  #storeMonth(key: string, rows: readonly EncodedRow[]): void {
    if (this.#deduplication.has(key)) return;
    this.#deduplication.add(key);
    this.#addRows(rows);
  }

  #addRows(rows: readonly EncodedRow[]): void {
    for (const { position: mark, timestamp } of rows) {
      // A row that is expired on arrival may be deleted at once.
      if (Math.floor(timestamp / 1000) + TTL_SECONDS <= NOW / 1000 && this.#choices.next(2) === 1)
        continue;
      this.counts.set(
        partitionPositionKey(mark),
        (this.counts.get(partitionPositionKey(mark)) ?? 0) + 1,
      );
    }
  }
}
