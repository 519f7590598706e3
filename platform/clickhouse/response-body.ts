const HEAD_BYTES = 65_536;
const TEXT_BYTES = 65_536;
const NEW_LINE = 10;

/**
 * Reads one HTTP/1.1 response from pieces of any size: the head, then a body in chunks or of a
 * given length. The bytes of a body with the status 200 are handed on, those of others are kept as
 * text.
 */
export class ResponseBody {
  readonly #onBytes: (bytes: Uint8Array) => void;
  #line = '';
  /** Bytes of the chunk that are still to come. */
  #left = 0;
  #state: 'status' | 'headers' | 'size' | 'bytes' | 'end of bytes' | 'trailers' | 'complete' =
    'status';
  #isChunked = false;
  #text: Buffer[] = [];
  #textBytes = 0;
  status = 0;

  constructor(onBytes: (bytes: Uint8Array) => void) {
    this.#onBytes = onBytes;
  }

  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  /** What an answer that is no result says. */
  text(): string {
    return Buffer.concat(this.#text).toString();
  }

  /** @throws Error for what is no HTTP response, and what `onBytes` throws */
  read(piece: Uint8Array): void {
    for (let at = 0; at < piece.length && this.#state !== 'complete';)
      at = this.#state === 'bytes' ? this.#readBytes(piece, at) : this.#readLine(piece, at);
  }

  #readBytes(piece: Uint8Array, at: number): number {
    const end = Math.min(piece.length, at + this.#left);
    const bytes = piece.subarray(at, end);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#isChunked ? 'end of bytes' : 'complete';
    if (this.status === 200) this.#onBytes(bytes);
    else this.#keep(bytes);
    return end;
  }

  #keep(bytes: Uint8Array): void {
    if (this.#textBytes >= TEXT_BYTES) return;
    this.#text.push(Buffer.from(bytes));
    this.#textBytes += bytes.length;
  }

  #readLine(piece: Uint8Array, at: number): number {
    const found = piece.indexOf(NEW_LINE, at);
    const end = found === -1 ? piece.length : found;
    if (this.#line.length + end - at > HEAD_BYTES) throw new Error('no HTTP response');
    this.#line += Buffer.from(piece.buffer, piece.byteOffset + at, end - at).toString('latin1');
    if (found === -1) return end;
    const line = this.#line.trimEnd();
    this.#line = '';
    this.#onLine(line);
    return found + 1;
  }

  #onLine(line: string): void {
    switch (this.#state) {
      case 'status':
        this.status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1]);
        if (Number.isNaN(this.status)) throw new Error(`no HTTP response: ${line.slice(0, 100)}`);
        this.#state = 'headers';
        return;
      case 'headers':
        this.#onHeader(line);
        return;
      case 'size':
        this.#left = Number.parseInt(line, 16);
        if (Number.isNaN(this.#left)) throw new Error(`no size of a chunk: ${line.slice(0, 100)}`);
        this.#state = this.#left === 0 ? 'trailers' : 'bytes';
        return;
      case 'end of bytes':
        this.#state = 'size';
        return;
      case 'trailers':
        if (line === '') this.#state = 'complete';
        return;
      case 'bytes':
      case 'complete':
        throw new Error('these are no lines');
    }
  }

  #onHeader(line: string): void {
    if (line === '') {
      const isBare = !this.#isChunked && this.#left === 0;
      this.#state = isBare ? 'complete' : this.#isChunked ? 'size' : 'bytes';
      return;
    }
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    if (name.toLowerCase() === 'transfer-encoding') this.#isChunked = /\bchunked$/i.test(value);
    if (name.toLowerCase() === 'content-length') this.#left = Number(value);
  }
}
