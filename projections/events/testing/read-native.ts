/** The values of each column of one block in ClickHouse's Native format, by name. */
export function readNative(bytes: Buffer): { rows: number; columns: Map<string, unknown[]> } {
  const reader = new NativeReader(bytes);
  const [count, rows] = [reader.unsigned(), reader.unsigned()];
  const columns = new Map<string, unknown[]>();
  for (let column = 0; column < count; column++) {
    const [name, type] = [reader.text(), reader.text()];
    columns.set(name, reader.column(type, rows));
  }
  if (!reader.isAtEnd) throw new Error('bytes follow the block');
  return { rows, columns };
}

class NativeReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  unsigned(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes.readUInt8(this.#next(1));
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  }

  text(): string {
    const size = this.unsigned();
    const from = this.#next(size);
    return this.#bytes.toString('utf8', from, from + size);
  }

  column(type: string, rows: number): unknown[] {
    const lowCardinality = 'LowCardinality(String)';
    if (type === lowCardinality) {
      this.#prefix();
      return this.#dictionaryValues(rows);
    }
    if (type === `Array(${lowCardinality})`) {
      this.#prefix();
      const ends = this.#list(rows, () => this.#uint64());
      const count = ends.at(-1) ?? 0;
      const all = count === 0 ? [] : this.#dictionaryValues(count);
      return ends.map((end, row) => all.slice(ends[row - 1] ?? 0, end));
    }
    const [, values] =
      new RegExp(`^Map\\(${lowCardinality.replace(/[()]/g, '\\$&')}, (\\w+)\\)$`).exec(type) ?? [];
    if (values === undefined) return this.#list(rows, () => this.#value(type));
    this.#prefix();
    const ends = this.#list(rows, () => this.#uint64());
    const entries = ends.at(-1) ?? 0;
    const keys = entries === 0 ? [] : this.#dictionaryValues(entries);
    const all = this.#list(entries, (at) => [keys[at], this.#value(values)]);
    return ends.map(
      (end, row) => Object.fromEntries(all.slice(ends[row - 1] ?? 0, end)) as unknown,
    );
  }

  #prefix(): void {
    if (this.#uint64() !== 1) throw new Error('the dictionary is not of this block');
  }

  #dictionaryValues(rows: number): string[] {
    const kind = this.#uint64();
    const width = [1, 2, 4][kind - 0x600];
    if (width === undefined) throw new Error(`a dictionary of the kind ${kind}`);
    const keys = this.#list(this.#uint64(), () => this.text());
    if (this.#uint64() !== rows) throw new Error('a dictionary for another number of rows');
    return this.#list(rows, () => {
      const key = keys[this.#bytes.readUIntLE(this.#next(width), width)];
      if (key === undefined) throw new Error('the dictionary has no such key');
      return key;
    });
  }

  #value(type: string): unknown {
    switch (type) {
      case 'String':
        return this.text();
      case 'Bool':
        return this.#bytes.readUInt8(this.#next(1)) === 1;
      case 'UInt16':
        return this.#bytes.readUInt16LE(this.#next(2));
      case 'UInt32':
        return this.#bytes.readUInt32LE(this.#next(4));
      case 'UInt64':
        return this.#uint64();
      case 'Int64':
      case "DateTime64(3, 'UTC')":
        return Number(this.#bytes.readBigInt64LE(this.#next(8)));
      case 'Float64':
        return this.#bytes.readDoubleLE(this.#next(8));
      default:
        throw new Error(`no reader of ${type}`);
    }
  }

  #uint64(): number {
    return Number(this.#bytes.readBigUInt64LE(this.#next(8)));
  }

  #list<T>(size: number, read: (at: number) => T): T[] {
    return Array.from({ length: size }, (_, at) => read(at));
  }

  #next(size: number): number {
    const from = this.#at;
    this.#at += size;
    return from;
  }
}
