/**
 * The kinds of value that a report binds; anything a client sent reaches ClickHouse as a bound
 * parameter and never as text of the statement.
 */
export type ParamType =
  | 'String'
  | 'Int64'
  | 'UInt64'
  | 'Array(String)'
  | 'Array(Int64)'
  | 'Array(UInt64)'
  | 'Array(Float64)';
export type ParamValue = string | number | readonly string[] | readonly number[];

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
    const key = `${type}=${JSON.stringify(value)}`;
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

  /** An epoch instant in milliseconds as DateTime64(3). */
  instant(value: number): string {
    return `fromUnixTimestamp64Milli(${this.whole(value)}, 'UTC')`;
  }

  /** A float by its bits: reading decimal text back could differ in the last of them. */
  float(value: number): string {
    return `reinterpretAsFloat64(${this.bind('UInt64', floatBits(value))})`;
  }

  values(): Record<string, ParamValue> {
    return { ...this.#values };
  }
}

function floatBits(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  // negative zero compares as zero
  view.setFloat64(0, value + 0);
  return view.getBigUint64(0).toString();
}

/** Columns that order the events of one timestamp. */
export const TIE_BREAKERS = 'received_at, _partition, _offset, _index';

/**
 * Computes columns in order, each list from the results of the lists before it. Each list is a
 * SELECT of its own: inside one SELECT ClickHouse expands an alias at every use, and aliases that
 * build on each other grow exponentially.
 */
export function nestedSelects(source: string, lists: readonly (readonly string[])[]): string {
  return lists
    .filter((list) => list.length > 0)
    .reduce((inner, list) => `SELECT *, ${list.join(', ')} FROM (${inner})`, source);
}
