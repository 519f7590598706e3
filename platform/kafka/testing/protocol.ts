/** A request of Kafka's protocol, in versions without tagged fields; read from front to back. */
export class Request {
  readonly api: number;
  readonly version: number;
  readonly correlation: number;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.api = this.int16();
    this.version = this.int16();
    this.correlation = this.int32();
    this.string();
  }

  int16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  /** A null string is empty. */
  string(): string {
    return this.#take(this.int16()).toString();
  }

  bytes(): Buffer {
    return this.#take(this.int32());
  }

  array<T>(read: () => T): T[] {
    return Array.from({ length: Math.max(0, this.int32()) }, read);
  }

  #take(length: number): Buffer {
    const start = this.#at;
    this.#at += Math.max(0, length);
    return this.#bytes.subarray(start, this.#at);
  }
}

/** The answer to a request, written from front to back. */
export class Reply {
  readonly #parts: Buffer[] = [];

  int8(value: number): this {
    this.#alloc(1).writeInt8(value);
    return this;
  }

  int16(value: number): this {
    this.#alloc(2).writeInt16BE(value);
    return this;
  }

  int32(value: number): this {
    this.#alloc(4).writeInt32BE(value);
    return this;
  }

  int64(value: bigint): this {
    this.#alloc(8).writeBigInt64BE(value);
    return this;
  }

  string(value: string | null): this {
    if (value === null) return this.int16(-1);
    const text = Buffer.from(value);
    this.int16(text.length);
    this.#parts.push(text);
    return this;
  }

  array<T>(items: readonly T[], write: (reply: this, item: T) => unknown): this {
    this.int32(items.length);
    for (const item of items) write(this, item);
    return this;
  }

  /** With the length of the frame and the request's correlation id. */
  framed(correlation: number): Buffer {
    const body = Buffer.concat(this.#parts);
    const head = Buffer.alloc(8);
    head.writeInt32BE(body.length + 4);
    head.writeInt32BE(correlation, 4);
    return Buffer.concat([head, body]);
  }

  #alloc(length: number): Buffer {
    const part = Buffer.alloc(length);
    this.#parts.push(part);
    return part;
  }
}
