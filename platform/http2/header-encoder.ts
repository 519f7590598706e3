import type { Header } from './header-decoder.ts';
import {
  DEFAULT_TABLE_BYTES,
  ENTRY_OVERHEAD_BYTES,
  STATIC_NAMES,
  STATIC_TABLE,
} from './static-table.ts';

/**
 * Headers that many requests have in common, such as a token: a connection sends them once, then a
 * byte for each. Encoded by identity: make the list once.
 */
export type SharedHeaders = readonly Header[];

/** A POST over TLS. Names are in lower case, values in Latin-1 and without control characters. */
export interface PostHeaders {
  path: string;
  /** The authority, and what all requests have. */
  shared: readonly SharedHeaders[];
  headers: readonly Header[];
}

interface Encoded {
  bytes: Buffer;
  /** #changes when they were encoded: after a change of the table their indexes are others. */
  changes: number;
}

/** `:method POST` and `:scheme https`, by their static indexes. */
const POST_HTTPS = Buffer.of(0x83, 0x87);
const INDEXED = 0x80;
const INSERTED = 0x40;
const RESIZED = 0x20;
const PLAIN = 0x00;

/** Encodes the header blocks of one connection, in their order (HPACK, RFC 7541). */
export class HeaderEncoder {
  readonly #entries: { key: string; bytes: number }[] = [];
  /** Number of the insertion of each entry, by its name and value. */
  readonly #numbers = new Map<string, number>();
  readonly #encoded = new WeakMap<SharedHeaders, Encoded>();
  #inserted = 0;
  #changes = 0;
  #bytes = 0;
  #maxBytes = DEFAULT_TABLE_BYTES;
  #isResized = false;
  /** The block that is being written, and its length. */
  #block = Buffer.allocUnsafe(8 * 1024);
  #length = 0;

  /** What the server's SETTINGS_HEADER_TABLE_SIZE says; the table never grows again. */
  setMaxTableBytes(bytes: number): void {
    if (bytes >= this.#maxBytes) return;
    this.#maxBytes = bytes;
    this.#isResized = true;
    this.#evict(0);
  }

  /** The header block, which is valid until the next call. */
  post({ path, shared, headers }: PostHeaders): Buffer {
    this.#length = 0;
    if (this.#isResized) {
      this.#isResized = false;
      this.#integer({ prefix: RESIZED, bits: 5, value: this.#maxBytes });
    }
    // Pseudo headers come before all others.
    this.#copy(POST_HTTPS);
    this.#literal([':path', path], PLAIN);
    for (const one of shared) this.#shared(one);
    for (const header of headers) this.#literal(header, PLAIN);
    return this.#block.subarray(0, this.#length);
  }

  #shared(headers: SharedHeaders): void {
    const known = this.#encoded.get(headers);
    if (known?.changes === this.#changes) return this.#copy(known.bytes);
    const [start, changes] = [this.#length, this.#changes];
    for (const header of headers) this.#encode(header);
    if (changes !== this.#changes) return;
    const bytes = Buffer.from(this.#block.subarray(start, this.#length));
    this.#encoded.set(headers, { bytes, changes });
  }

  #encode(header: Header): void {
    const key = header.join('\0');
    const number = this.#numbers.get(key);
    if (number !== undefined) {
      const value = STATIC_TABLE.length + this.#inserted - number;
      return this.#integer({ prefix: INDEXED, bits: 7, value });
    }
    const bytes = header[0].length + header[1].length + ENTRY_OVERHEAD_BYTES;
    // Something larger would evict what other requests use.
    if (bytes > this.#maxBytes / 2) return this.#literal(header, PLAIN);
    this.#evict(bytes);
    this.#entries.push({ key, bytes });
    this.#numbers.set(key, this.#inserted++);
    this.#changes++;
    this.#bytes += bytes;
    this.#literal(header, INSERTED);
  }

  /** Until an entry of `bytes` has room. */
  #evict(bytes: number): void {
    while (this.#bytes + bytes > this.#maxBytes) {
      const oldest = this.#entries.shift();
      if (!oldest) return;
      this.#numbers.delete(oldest.key);
      this.#bytes -= oldest.bytes;
      this.#changes++;
    }
  }

  #literal([name, value]: Header, prefix: number): void {
    const index = STATIC_NAMES.get(name);
    this.#integer({ prefix, bits: prefix === INSERTED ? 6 : 4, value: index ?? 0 });
    if (index === undefined) this.#text(name);
    this.#text(value);
  }

  #text(value: string): void {
    this.#integer({ prefix: 0, bits: 7, value: value.length });
    this.#reserve(value.length);
    this.#length += this.#block.write(value, this.#length, 'latin1');
  }

  /** `value` in the last `bits` bits of a byte with `prefix`, and in what follows. */
  #integer({ prefix, bits, value }: { prefix: number; bits: number; value: number }): void {
    this.#reserve(8);
    const max = 2 ** bits - 1;
    if (value < max) {
      this.#block[this.#length++] = prefix | value;
      return;
    }
    this.#block[this.#length++] = prefix | max;
    let rest = value - max;
    for (; rest >= 0x80; rest >>= 7) this.#block[this.#length++] = (rest & 0x7f) | 0x80;
    this.#block[this.#length++] = rest;
  }

  #copy(bytes: Buffer): void {
    this.#reserve(bytes.length);
    this.#length += bytes.copy(this.#block, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#block.length) return;
    const grown = Buffer.allocUnsafe(this.#block.length * 2 + bytes);
    this.#block.copy(grown, 0, 0, this.#length);
    this.#block = grown;
  }
}
