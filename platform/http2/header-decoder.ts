import { ERROR, ProtocolError } from './frames.ts';
import { decodeHuffman } from './huffman.ts';
import { DEFAULT_TABLE_BYTES, ENTRY_OVERHEAD_BYTES, STATIC_TABLE } from './static-table.ts';

export type Header = readonly [name: string, value: string];

/** Names and values of one header block, with the overhead of entries. */
const MAX_LIST_BYTES = 32 * 1024;

/** Decodes the header blocks of one connection, in their order (HPACK, RFC 7541). */
export class HeaderDecoder {
  /** The newest one is the last. */
  #entries: Header[] = [];
  #bytes = 0;
  #maxBytes = DEFAULT_TABLE_BYTES;

  /** Throws ProtocolError: what follows on the connection cannot be decoded. */
  decode(block: Buffer): Header[] {
    const reader = new BlockReader(block);
    const headers: Header[] = [];
    let bytes = 0;
    while (!reader.isAtEnd) {
      const header = this.#next(reader);
      if (!header) continue;
      bytes += sizeOf(header);
      if (bytes > MAX_LIST_BYTES)
        throw new ProtocolError(ERROR.enhanceYourCalm, 'the headers of an answer are too long');
      headers.push(header);
    }
    return headers;
  }

  /** The next header; undefined after a change of the table's size. */
  #next(reader: BlockReader): Header | undefined {
    const first = reader.peek();
    if ((first & 0x80) !== 0) return this.#entry(reader.integer(7));
    if ((first & 0xe0) === 0x20) {
      this.#resize(reader.integer(5));
      return undefined;
    }
    // With indexing: 01; without, or never: 0000 and 0001.
    const isIndexed = (first & 0x40) !== 0;
    const index = reader.integer(isIndexed ? 6 : 4);
    const name = index === 0 ? reader.text() : this.#entry(index)[0];
    const header: Header = [name, reader.text()];
    if (isIndexed) this.#add(header);
    return header;
  }

  #entry(index: number): Header {
    const found =
      index <= STATIC_TABLE.length
        ? STATIC_TABLE[index - 1]
        : this.#entries[this.#entries.length - (index - STATIC_TABLE.length)];
    if (!found) throw new ProtocolError(ERROR.compression, `there is no header ${index}`);
    return found;
  }

  #add(header: Header): void {
    this.#entries.push(header);
    this.#bytes += sizeOf(header);
    this.#evict();
  }

  #resize(maxBytes: number): void {
    if (maxBytes > DEFAULT_TABLE_BYTES)
      throw new ProtocolError(ERROR.compression, `a table of ${maxBytes} bytes is not allowed`);
    this.#maxBytes = maxBytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes) {
      const oldest = this.#entries.shift();
      this.#bytes = oldest ? this.#bytes - sizeOf(oldest) : 0;
    }
  }
}

function sizeOf([name, value]: Header): number {
  return name.length + value.length + ENTRY_OVERHEAD_BYTES;
}

/** Integers have at most this many bytes after the first: lengths and indexes are small. */
const MAX_INTEGER_BYTES = 4;

class BlockReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  peek(): number {
    return this.#bytes[this.#at] ?? truncated();
  }

  /** An integer in the last `bits` bits of the next byte, and in what follows. */
  integer(bits: number): number {
    const max = 2 ** bits - 1;
    let value = this.peek() & max;
    this.#at++;
    if (value < max) return value;
    for (let shift = 0; shift < 7 * MAX_INTEGER_BYTES; shift += 7) {
      const byte = this.peek();
      this.#at++;
      value += (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw new ProtocolError(ERROR.compression, 'a number in the headers is too long');
  }

  /** Latin-1. */
  text(): string {
    const isHuffman = (this.peek() & 0x80) !== 0;
    const length = this.integer(7);
    const bytes = this.#bytes.subarray(this.#at, this.#at + length);
    if (bytes.length < length) truncated();
    this.#at += length;
    return isHuffman ? decodeHuffman(bytes) : bytes.toString('latin1');
  }
}

function truncated(): never {
  throw new ProtocolError(ERROR.compression, 'the headers end in the middle of one');
}
