import { dayText, tehranDay } from '../../events/tehran-time.ts';
import {
  comparePartitionPositions,
  BEFORE_FIRST,
  type PartitionPosition,
} from '../../schemas/log-position.ts';

/** The fields of an event that the catalogue counts. */
export interface CountedEvent {
  _epoch: number;
  _offset: number;
  _index: number;
  account_id: number;
  event: string;
  timestamp: number;
  properties: Record<string, string>;
}

/** A range of CHUNK_RECORDS raw records of one partition, counted on its own. */
export interface Chunk {
  epoch: number;
  chunk: number;
}

/** Raw records per chunk; a restart counts at most this many again. */
export const CHUNK_RECORDS = 8192;
/** Property keys kept per event name, day and chunk; a client that sends more generates them. */
const MAX_KEYS = 1000;
/** Combinations of account, day and event name per chunk; further ones are not listed. */
const MAX_CELLS = 200_000;

/** A row of event_catalogue. */
export interface CatalogueRow {
  account_id: number;
  day: string;
  event: string;
  _epoch: number;
  _partition: number;
  chunk: number;
  count: number;
  prop_keys: string[];
  last_seen: number;
  version: number;
  chunk_from: number;
}

/** What is stored of a chunk. */
export interface StoredChunk {
  /** The newest version of any of its rows. */
  version: number;
  /** Its first record in the topic. */
  from: number;
  /** Counted events, by `cellKey`. */
  counts: ReadonlyMap<string, number>;
}

/** @param day days since the epoch, in Tehran */
export function cellKey(accountId: number, day: number, event: string): string {
  return `${accountId} ${day} ${event}`;
}

interface Cell {
  accountId: number;
  day: number;
  event: string;
  count: number;
  keys: Set<string>;
  lastSeen: number;
  isChanged: boolean;
}

export function chunkOf(event: Pick<CountedEvent, '_epoch' | '_offset'>): Chunk {
  return { epoch: event._epoch, chunk: Math.floor(event._offset / CHUNK_RECORDS) };
}

function compareChunks(a: Chunk, b: Chunk): number {
  return a.epoch - b.epoch || a.chunk - b.chunk;
}

/**
 * Counts the events of one partition, chunk by chunk. The count of a chunk up to a log position
 * depends only on the log, so every process that counts it writes the same rows. `from` is the
 * first chunk to count; earlier chunks are complete.
 */
export class CatalogueCounter {
  readonly #partition: number;
  #open: Chunk;
  #from = 0;
  #cells = new Map<string, Cell>();
  #counted = 0;
  #last: PartitionPosition = BEFORE_FIRST;
  #stored: StoredChunk | undefined;
  #pending: CatalogueRow[] = [];

  constructor(partition: number, from: Chunk = { epoch: -1, chunk: -1 }) {
    this.#partition = partition;
    this.#open = from;
  }

  /**
   * The first records of the chunk left the log before it was counted again: what is stored stands
   * until more than that was counted, and what is written from now on is newer.
   */
  resume(stored: StoredChunk): void {
    this.#stored = stored;
  }

  /** Counts the next record of the topic; skips log positions that were counted already. */
  add(offset: number, events: readonly CountedEvent[]): void {
    for (const event of events) {
      const position = { epoch: event._epoch, offset: event._offset, index: event._index };
      const chunk = chunkOf(event);
      const order = compareChunks(chunk, this.#open);
      if (order < 0 || comparePartitionPositions(position, this.#last) <= 0) continue;
      if (order > 0) this.#begin(chunk);
      if (this.#counted === 0) this.#from = this.#stored?.from ?? offset;
      this.#last = position;
      this.#count(event);
    }
  }

  /** Rows that are new or changed since the last call. */
  changed(): CatalogueRow[] {
    const rows = [...this.#pending, ...this.#rows()];
    this.#pending = [];
    return rows;
  }

  #begin(chunk: Chunk): void {
    this.#pending.push(...this.#rows());
    this.#open = chunk;
    this.#stored = undefined;
    this.#cells = new Map();
    this.#counted = 0;
  }

  #count({ account_id: accountId, event, timestamp, properties }: CountedEvent): void {
    this.#counted++;
    const day = tehranDay(timestamp);
    const key = cellKey(accountId, day, event);
    let cell = this.#cells.get(key);
    if (!cell) {
      if (this.#cells.size >= MAX_CELLS) return;
      cell = {
        accountId,
        day,
        event,
        count: 0,
        keys: new Set(),
        lastSeen: timestamp,
        isChanged: true,
      };
      this.#cells.set(key, cell);
    }
    cell.count++;
    cell.isChanged = true;
    cell.lastSeen = Math.max(cell.lastSeen, timestamp);
    for (const property in properties) if (cell.keys.size < MAX_KEYS) cell.keys.add(property);
  }

  #rows(): CatalogueRow[] {
    const rows: CatalogueRow[] = [];
    const chunk = {
      _epoch: this.#open.epoch,
      _partition: this.#partition,
      chunk: this.#open.chunk,
      version: this.#counted + (this.#stored?.version ?? 0),
      chunk_from: this.#from,
    };
    for (const cell of this.#cells.values()) {
      if (!cell.isChanged) continue;
      cell.isChanged = false;
      const { accountId: account_id, day, event, count, keys, lastSeen: last_seen } = cell;
      if (count <= (this.#stored?.counts.get(cellKey(account_id, day, event)) ?? 0)) continue;
      rows.push({
        ...chunk,
        account_id,
        day: dayText(day),
        event,
        count,
        prop_keys: [...keys].sort(),
        last_seen,
      });
    }
    return rows;
  }
}
