import type { ClickHouseClient } from '@clickhouse/client';

interface Part {
  name: string;
  rows: number;
}

/** A list of parts is used for so long, ms: one that has been merged since only costs more. */
const KEPT_MS = 10_000;
/**
 * Reading the keys of a part costs as much as asking its index when it has so many rows for each
 * wanted person (docs/performance.md, Loads among many people).
 */
const ROWS_PER_PERSON = 400;
/**
 * Of a part with at most so many rows for each wanted person the index selects most granules, which
 * hold 16 rows: reading all of its keys costs less (docs/performance.md, Loads of many people).
 */
const DENSE_ROWS_PER_PERSON = 64;
/** A part with a larger share of all rows holds many of the wanted people: its index is asked. */
const LARGE_SHARE = 1 / 8;
/** For fewer parts a second reading of the table costs more than it saves. */
const FEWEST = 2;

/**
 * The parts of a table that cost a load less when it reads all of their keys. Otherwise it searches
 * the index of each part for each wanted person, also of the parts that recent inserts made.
 */
export class SmallParts {
  readonly #client: Pick<ClickHouseClient, 'query'>;
  readonly #table: string;
  #parts: readonly Part[] = [];
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(client: Pick<ClickHouseClient, 'query'>, table: string) {
    this.#client = client;
    this.#table = table;
  }

  /**
   * Whether a load of so many people costs less when it reads the keys of all parts. By the list
   * that forPeople uses. Never rejects.
   */
  async areAll(people: number, signal: AbortSignal): Promise<boolean> {
    const most = people * DENSE_ROWS_PER_PERSON;
    const parts = await this.#list(signal);
    // Without a list the table may be of any size.
    return parts.length > 0 && parts.every(({ rows }) => rows <= most);
  }

  /**
   * Their names for a load of so many people, as they were at most 10 s ago, or earlier where the
   * list cannot be read: a user of ClickHouse may lack the right. Never rejects.
   */
  async forPeople(people: number, signal: AbortSignal): Promise<string[]> {
    const names = smallParts(await this.#list(signal), people).map(({ name }) => name);
    return names.length < FEWEST ? [] : names;
  }

  async #list(signal: AbortSignal): Promise<readonly Part[]> {
    if (performance.now() >= this.#readAt + KEPT_MS) {
      // Of concurrent loads one reads the list.
      this.#readAt = performance.now();
      this.#parts = await this.#read(signal).catch(() => this.#parts);
    }
    return this.#parts;
  }

  async #read(signal: AbortSignal): Promise<Part[]> {
    const answer = await this.#client.query({
      query:
        'SELECT name, rows FROM system.parts WHERE active AND database = currentDatabase() AND table = {table:String}',
      query_params: { table: this.#table },
      format: 'JSONEachRow',
      abort_signal: signal,
    });
    const parts = await answer.json<{ name: string; rows: string }>();
    return parts.map(({ name, rows }) => ({ name, rows: Number(rows) }));
  }
}

function smallParts(parts: readonly Part[], people: number): readonly Part[] {
  const all = parts.reduce((sum, { rows }) => sum + rows, 0);
  const most = Math.min(people * ROWS_PER_PERSON, all * LARGE_SHARE);
  return parts.filter(({ rows }) => rows <= most);
}
