import type { Outcome } from '../classify.ts';
import { partitionPositionKey } from '../../../schemas/log-position.ts';
import { splitRows, type Row } from '../rows.ts';
import { TTL_SECONDS } from '../write.ts';
import type { Insert, Warehouse } from '../warehouse.ts';
import type { Choices } from './choices.ts';

/** Rows of this event are refused, whatever is sent with them. */
export const POISON = 'poison';

/** The clock of the simulated world, ms since the epoch. */
export const NOW = Date.UTC(2026, 10, 21);

interface Request {
  queryId: string;
  token: string;
  /** Undefined: the datums cannot be read. */
  rows: Row[] | undefined;
  /** Months whose token stands in the log already while the rows are not to be seen yet. */
  committing?: [string, Row[]][];
}

const UNCERTAIN: Outcome = { kind: 'uncertain', error: new Error('connection reset') };

/**
 * ClickHouse as far as the sink relies on it: a block is stored month by month, each month at once
 * and under the token, whose log may name a month that a crash kept from being stored. Requests can
 * be lost, come late, run on after their client has gone, or lose their answer.
 */
export class SimulatedClickhouse implements Warehouse {
  readonly #choices: Choices;
  /** How often each place is stored. */
  readonly counts = new Map<string, number>();
  readonly #deduplication = new Set<string>();
  #late: Request[] = [];
  #running: Request[] = [];

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  insert(insert: Insert): Promise<Outcome> {
    const request = {
      queryId: insert.queryId,
      token: insert.token,
      rows: splitRows(Buffer.concat(insert.datums), insert.count),
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
    if (this.#choices.chance(8)) return Promise.reject(new Error('ClickHouse is away'));
    const mine = this.#running.filter(({ queryId }) => queryId.startsWith(prefix));
    this.#running = this.#running.filter((request) => !mine.includes(request));
    for (const request of mine) if (this.#choices.next(2) === 1) this.#apply(request);
    return Promise.resolve();
  }

  stored(_partition: number, rows: readonly Row[]): Promise<{ keys: Set<string>; now: number }> {
    this.#deliverSome();
    if (this.#choices.chance(8)) return Promise.reject(new Error('ClickHouse is away'));
    const keys = rows
      .map(({ mark }) => partitionPositionKey(mark))
      .filter((key) => (this.counts.get(key) ?? 0) > 0);
    this.#deliverSome();
    return Promise.resolve({ keys: new Set(keys), now: NOW / 1000 });
  }

  /** Everything that was under way arrives in the end. */
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

  /** The moment between the token and the rows, drawn out. */
  #begin(request: Request): Request {
    const committing = (this.#months(request) ?? []).filter(
      ([key]) => !this.#deduplication.has(key),
    );
    for (const [key] of committing) this.#deduplication.add(key);
    return { ...request, committing };
  }

  /** Answers false when the block is refused: then nothing of it is stored. */
  #apply(request: Request): boolean {
    for (const [, rows] of request.committing ?? []) this.#addRows(rows);
    if (request.committing) return true;
    const months = this.#months(request);
    for (const [key, rows] of months ?? []) this.#storeMonth(key, rows);
    return months !== undefined;
  }

  /**
   * kill -9 in the middle: some months are stored, the log may name one that is not, and every
   * connection is gone.
   */
  #crashDuring(request: Request): void {
    const months = this.#months(request) ?? [];
    const whole = this.#choices.next(months.length + 1);
    for (const [key, rows] of months.slice(0, whole)) this.#storeMonth(key, rows);
    const next = months[whole];
    if (next && this.#choices.next(2) === 1) this.#deduplication.add(next[0]);
    this.#late = [];
    this.#running = [];
  }

  #months({ rows, token }: Request): [string, Row[]][] | undefined {
    if (!rows || rows.some(({ event }) => event === POISON)) return undefined;
    const months = new Map<string, Row[]>();
    for (const row of rows) {
      const key = `${new Date(row.timestamp).toISOString().slice(0, 7)}_${token}`;
      months.set(key, [...(months.get(key) ?? []), row]);
    }
    return [...months];
  }

  #storeMonth(key: string, rows: readonly Row[]): void {
    if (this.#deduplication.has(key)) return;
    this.#deduplication.add(key);
    this.#addRows(rows);
  }

  #addRows(rows: readonly Row[]): void {
    for (const { mark, timestamp } of rows) {
      // What is born expired may leave at once.
      if (Math.floor(timestamp / 1000) + TTL_SECONDS <= NOW / 1000 && this.#choices.next(2) === 1)
        continue;
      this.counts.set(
        partitionPositionKey(mark),
        (this.counts.get(partitionPositionKey(mark)) ?? 0) + 1,
      );
    }
  }
}
