/**
 * The kinds of value that a report binds; anything a client sent reaches ClickHouse as a bound
 * parameter and never as text of the statement.
 */
export type ParamType =
  'String' | 'Int64' | 'UInt64' | 'Array(String)' | 'Array(Int64)' | 'Array(UInt64)';
export type ParamValue =
  string | number | readonly string[] | readonly number[] | readonly bigint[];

/** One statement for ClickHouse with its bound parameters. */
export interface CompiledQuery {
  sql: string;
  params: Record<string, ParamValue>;
}

/** Collects the parameters of one statement: equal values share one. */
export class SqlParams {
  readonly #names = new Map<string, string>();
  readonly #values: Record<string, ParamValue> = {};

  /** The placeholder of a bound value, `{p0:String}`. */
  bind(type: ParamType, value: ParamValue): string {
    const key = `${type}=${JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one))}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `p${this.#names.size}`;
      this.#names.set(key, name);
      this.#values[name] = value;
    }
    return `{${name}:${type}}`;
  }

  text(value: string): string {
    return this.bind('String', value);
  }

  whole(value: number): string {
    return this.bind('Int64', value);
  }

  /** An epoch instant in milliseconds as DateTime64(3); PostgreSQL's clock has parts of them. */
  instant(value: number): string {
    return `fromUnixTimestamp64Milli(${this.whole(Math.floor(value))}, 'UTC')`;
  }

  /** A float by its bits: reading decimal text back could differ in the last of them. */
  float(value: number): string {
    return `reinterpretAsFloat64(${this.bind('UInt64', floatBits(value).toString())})`;
  }

  /**
   * Whether a text is one of these: a parameter for every 100 KB, because ClickHouse takes at most
   * 128 KiB in one field of a form (http_max_field_value_size).
   */
  isTextIn(value: string, list: readonly string[]): string {
    const sides = chunksOf(list).map((chunk) => `${value} IN ${this.bind('Array(String)', chunk)}`);
    return sides.length === 1 ? (sides[0] ?? '') : `(${sides.join(' OR ')})`;
  }

  /** Whether a float is one of these, by the bits: one parameter however long the list is. */
  isFloatIn(value: string, list: readonly number[]): string {
    // `+ 0` turns a negative zero into zero
    return `reinterpretAsUInt64(${value} + 0) IN ${this.bind('Array(UInt64)', list.map(floatBits))}`;
  }

  values(): Record<string, ParamValue> {
    return { ...this.#values };
  }
}

const CHUNK_BYTES = 100_000;

/** Runs of texts that fit into one parameter, however many of their characters are escaped. */
function chunksOf(texts: readonly string[]): string[][] {
  const chunks: string[][] = [[]];
  let bytes = 0;
  for (const text of texts) {
    const added = 2 * Buffer.byteLength(text) + 3;
    if (bytes > 0 && bytes + added > CHUNK_BYTES) {
      chunks.push([]);
      bytes = 0;
    }
    chunks.at(-1)?.push(text);
    bytes += added;
  }
  return chunks;
}

function floatBits(value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  // negative zero compares as zero
  view.setFloat64(0, value + 0);
  return view.getBigUint64(0);
}

/** Columns that order the events of one timestamp. */
export const TIE_BREAKERS = 'received_at, _partition, _offset, _index';

/** What is read of nested SELECTs: a level passes on only columns that something still names. */
interface Reads {
  /** Columns of the source. */
  columns: readonly string[];
  /** The SQL that reads the result. */
  by: string;
}

/**
 * Computes columns in order, each list from the results of the lists before it. Each list is a
 * SELECT of its own: inside one SELECT ClickHouse expands an alias at every use, and aliases that
 * build on each other grow exponentially. Planning costs time for each column of each level, which
 * `reads` keeps few; without it, all are passed on.
 */
export function nestedSelects(
  source: string,
  lists: readonly (readonly string[])[],
  reads?: Reads,
): string {
  const levels = lists.filter((list) => list.length > 0);
  if (!reads)
    return levels.reduce((inner, list) => `SELECT *, ${list.join(', ')} FROM (${inner})`, source);
  // from the last level to the first: which names anything behind it mentions
  const mentioned = levels.map(() => new Set<string>());
  const names = wordsOf(reads.by);
  for (const [at, list] of [...levels.entries()].reverse()) {
    mentioned[at] = new Set(names);
    for (const sql of list) for (const word of wordsOf(sql)) names.add(word);
  }
  let columns = [...reads.columns];
  let sql = source;
  for (const [at, list] of levels.entries()) {
    const kept = columns.filter((name) => mentioned[at]?.has(name));
    sql = `SELECT ${[...kept, ...list].join(', ')} FROM (${sql})`;
    columns = [...kept, ...columnsOf([list])];
  }
  return sql;
}

/** The names that lists of columns define. */
export function columnsOf(lists: readonly (readonly string[])[]): string[] {
  return lists.flat().flatMap((sql) => /\bAS (\w+)$/.exec(sql)?.[1] ?? []);
}

function wordsOf(sql: string): Set<string> {
  return new Set(sql.replaceAll(/\{\w+:[^}]*\}/g, '').match(/\w+/g));
}
