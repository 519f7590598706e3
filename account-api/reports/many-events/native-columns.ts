/** Bytes of a value: both columns have types of this width. */
const WIDTH = 8;
const COLUMNS = 2;
const TYPE = 'UInt64';
/** Rows of a block that is read in one piece; ClickHouse sends 65,505 at most by default. */
const MAX_ROWS = 2 ** 20;
/** A name, a type and the counts of a block are shorter. */
const MAX_HEADER = 512;

/** A block of rows: of each column two numbers for a row, the lower half of the UInt64 first. */
export type OnRows = (people: Uint32Array, keys: Uint32Array) => void;

/**
 * Reads ClickHouse's Native format of statements with two columns of type UInt64, from
 * pieces of any size. A block is: number of columns and of rows (varints), then for each column its
 * name, its type (a varint of the length, and bytes) and the values, little-endian. An error that
 * ClickHouse meets after the first rows comes as text in place of a block.
 */
export class NativeColumns {
  readonly #onRows: OnRows;
  /** Bytes of a header that is not complete. */
  #header: Buffer = Buffer.alloc(0);
  #state: 'block' | 'column' | 'values' = 'block';
  #column = 0;
  #rows = 0;
  /** Bytes of the column that are here. */
  #filled = 0;
  #columns: [Uint8Array, Uint8Array] = [new Uint8Array(0), new Uint8Array(0)];
  /** Rows of all blocks. */
  rows = 0;

  constructor(onRows: OnRows) {
    this.#onRows = onRows;
  }

  /** @throws NativeError for anything but such blocks */
  read(piece: Uint8Array): void {
    let at = 0;
    while (at < piece.length) {
      if (this.#state === 'values') at = this.#readValues(piece, at);
      else at = this.#readHeader(piece, at);
    }
  }

  /** @throws NativeError where a block is not complete */
  end(): void {
    if (this.#state !== 'block' || this.#header.length > 0)
      throw new NativeError('the result ended within a block');
  }

  #readValues(piece: Uint8Array, at: number): number {
    const column = this.#columns[this.#column === 0 ? 0 : 1];
    const missing = this.#rows * WIDTH - this.#filled;
    const copied = Math.min(missing, piece.length - at);
    column.set(piece.subarray(at, at + copied), this.#filled);
    this.#filled += copied;
    if (copied === missing) this.#endColumn();
    return at + copied;
  }

  #endColumn(): void {
    this.#filled = 0;
    this.#column++;
    this.#state = this.#column === COLUMNS ? 'block' : 'column';
    if (this.#state === 'column') return;
    const [people, keys] = this.#columns;
    this.rows += this.#rows;
    this.#onRows(
      new Uint32Array(people.buffer, 0, this.#rows * 2),
      new Uint32Array(keys.buffer, 0, this.#rows * 2),
    );
  }

  /** Answers the position behind the header, or the end of the piece when more is needed. */
  #readHeader(piece: Uint8Array, at: number): number {
    const before = this.#header.length;
    const bytes = Buffer.concat([this.#header, piece.subarray(at, at + MAX_HEADER)]);
    const header = new HeaderReader(bytes);
    const isWhole = this.#state === 'block' ? this.#beginBlock(header) : this.#beginColumn(header);
    if (!isWhole) {
      if (bytes.length >= MAX_HEADER) throw new NativeError(`no block, but ${textOf(bytes)}`);
      this.#header = bytes;
      return piece.length;
    }
    this.#header = Buffer.alloc(0);
    return at + header.at - before;
  }

  #beginBlock(header: HeaderReader): boolean {
    const columns = header.varint();
    // a text has other bytes there
    if (columns !== undefined && columns !== COLUMNS)
      throw new NativeError(`no block, but ${textOf(header.bytes)}`);
    const rows = header.varint();
    if (rows === undefined) return false;
    if (rows > MAX_ROWS) throw new NativeError(`a block of ${rows} rows`);
    this.#rows = rows;
    this.#column = 0;
    this.#state = 'column';
    const size = rows * WIDTH;
    if (this.#columns[0].length < size)
      this.#columns = [new Uint8Array(size), new Uint8Array(size)];
    return true;
  }

  #beginColumn(header: HeaderReader): boolean {
    const name = header.text();
    const type = name === undefined ? undefined : header.text();
    if (type === undefined) return false;
    if (type !== TYPE) throw new NativeError(`a column of type ${type}`);
    this.#state = 'values';
    this.#filled = 0;
    if (this.#rows === 0) this.#endColumn();
    return true;
  }
}

/** The result is not what the statement should answer, an error of ClickHouse for instance. */
export class NativeError extends Error {
  override name = 'NativeError';
}

class HeaderReader {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Undefined: its bytes are not all here. */
  varint(): number | undefined {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = this.bytes[this.at];
      if (byte === undefined) return undefined;
      this.at++;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
      if (shift > 2 ** 42) throw new NativeError('a count without an end');
    }
  }

  text(): string | undefined {
    const length = this.varint();
    if (length === undefined || this.at + length > this.bytes.length) return undefined;
    this.at += length;
    return this.bytes.toString('utf8', this.at - length, this.at);
  }
}

function textOf(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('utf8', 0, MAX_HEADER));
}
