const HEAD_END = Buffer.from('\r\n\r\n');

/** The messages of one HTTP/1.1 connection, as their bytes arrive; each says its Content-Length. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Head and body of each message that is complete by now. */
  *read(chunk: Buffer): Generator<{ head: string; body: Buffer }> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const headEnd = this.#rest.indexOf(HEAD_END);
      if (headEnd < 0) return;
      const head = this.#rest.toString('latin1', 0, headEnd);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) throw new Error(`a message without Content-Length: ${head}`);
      const [from, to] = [headEnd + 4, headEnd + 4 + Number(length)];
      if (this.#rest.length < to) return;
      yield { head, body: this.#rest.subarray(from, to) };
      this.#rest = this.#rest.subarray(to);
    }
  }
}
