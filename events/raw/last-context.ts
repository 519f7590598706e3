import type { DecodedRecord } from './decode-record.ts';

/** A context, and the columns that it gives as they are encoded. */
export class LastContext {
  /** The first `blockLength` bytes are the columns from `source` to `city`. */
  block: Buffer = Buffer.alloc(0);
  blockLength = 0;
  /** JSON text of the context. */
  #text: Buffer = Buffer.alloc(0);
  #length = -1;
  #source = '';
  #ip = '';
  #userAgent = '';
  /** Its record and place: events of a batch mostly have the context of the batch. */
  #of: DecodedRecord | undefined;
  #start = 0;

  /** Whether the context from `start` to `end` is this one, and the connection an equal one. */
  isThat(decoded: DecodedRecord, start: number, end: number): boolean {
    if (decoded === this.#of && start === this.#start) return true;
    const { record, bytes } = decoded;
    const isEqual =
      end - start === this.#length &&
      record.user_agent === this.#userAgent &&
      record.ip === this.#ip &&
      record.source === this.#source &&
      isSameText(bytes, start, this.#text, this.#length);
    if (isEqual) [this.#of, this.#start] = [decoded, start];
    return isEqual;
  }

  /** @param block its columns, which are copied */
  remember(
    decoded: DecodedRecord,
    { start, end }: { start: number; end: number },
    block: Buffer,
  ): void {
    const { record, bytes } = decoded;
    this.#length = end - start;
    this.#text = withRoom(this.#text, this.#length);
    bytes.copy(this.#text, 0, start, end);
    this.blockLength = block.length;
    this.block = withRoom(this.block, block.length);
    block.copy(this.block);
    this.#source = record.source;
    this.#ip = record.ip;
    this.#userAgent = record.user_agent;
    this.#of = decoded;
    this.#start = start;
  }
}

/** A buffer of at least so many bytes. A context is a part of a body, so it is bounded. */
function withRoom(buffer: Buffer, length: number): Buffer {
  return buffer.length >= length ? buffer : Buffer.allocUnsafeSlow(2 * length);
}

function isSameText(bytes: Buffer, start: number, text: Buffer, length: number): boolean {
  let at = 0;
  while (at < length && bytes[start + at] === text[at]) at++;
  return at === length;
}
