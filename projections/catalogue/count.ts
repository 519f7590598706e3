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
  /** The map, or its keys. */
  properties: Readonly<Record<string, string>> | readonly string[];
}

/** The keys of the properties of an event. */
export function propertyKeys({ properties }: Pick<CountedEvent, 'properties'>): readonly string[] {
  return isList(properties) ? properties : Object.keys(properties);
}

const isList: (value: object) => value is readonly unknown[] = Array.isArray;

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
  /** The list that was added to `keys` last: readers repeat it for the same keys. */
  lastKeys: readonly string[];
  lastSeen: number;
  isChanged: boolean;
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
  /** The cell of each event name that was counted last. */
  #recent = new Map<string, Cell>();
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
      const { _epoch: epoch, _offset, _index: index } = event;
      const chunk = Math.floor(_offset / CHUNK_RECORDS);
      const order = epoch - this.#open.epoch || chunk - this.#open.chunk;
      const position = { epoch, offset: _offset, index };
      if (order < 0 || comparePartitionPositions(position, this.#last) <= 0) continue;
      if (order > 0) this.#begin({ epoch, chunk });
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
    this.#recent = new Map();
    this.#counted = 0;
  }

  #count(counted: CountedEvent): void {
    this.#counted++;
    const cell = this.#cellOf(counted);
    if (!cell) return;
    cell.count++;
    cell.isChanged = true;
    cell.lastSeen = Math.max(cell.lastSeen, counted.timestamp);
    const keys = propertyKeys(counted);
    if (keys === cell.lastKeys) return;
    cell.lastKeys = keys;
    for (const key of keys) if (cell.keys.size < MAX_KEYS) cell.keys.add(key);
  }

  /** Undefined: there are too many. */
  #cellOf({ account_id: accountId, event, timestamp }: CountedEvent): Cell | undefined {
    const day = tehranDay(timestamp);
    const recent = this.#recent.get(event);
    if (recent?.accountId === accountId && recent.day === day) return recent;
    const key = cellKey(accountId, day, event);
    let cell = this.#cells.get(key);
    if (!cell) {
      if (this.#cells.size >= MAX_CELLS) return undefined;
      cell = {
        accountId,
        day,
        event,
        count: 0,
        keys: new Set(),
        lastKeys: [],
        lastSeen: timestamp,
        isChanged: true,
      };
      this.#cells.set(key, cell);
    }
    this.#recent.set(event, cell);
    return cell;
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
