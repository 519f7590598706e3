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
   * Their names for a load of so many people, as they were at most 10 s ago, or earlier where the
   * list cannot be read: a user of ClickHouse may lack the right. Never rejects.
   */
  async forPeople(people: number, signal: AbortSignal): Promise<string[]> {
    if (performance.now() >= this.#readAt + KEPT_MS) {
      // Of concurrent loads one reads the list.
      this.#readAt = performance.now();
      this.#parts = await this.#read(signal).catch(() => this.#parts);
    }
    const names = smallParts(this.#parts, people).map(({ name }) => name);
    return names.length < FEWEST ? [] : names;
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
