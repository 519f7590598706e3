import { DEFAULT_FRAME_BYTES, FLAG, FRAME, FRAME_HEAD_BYTES, SETTING } from './frames.ts';

/** More than this is written at once, without waiting for more frames. */
const FULL_BYTES = 64 * 1024;

/**
 * Collects frames, so that many of them are one write, one TLS record and one system call. Its
 * buffer grows to the longest burst between two flushes.
 */
export class FrameWriter {
  #buffer = Buffer.allocUnsafe(16 * 1024);
  #length = 0;
  /** Of the server's SETTINGS_MAX_FRAME_SIZE. */
  maxFrameBytes = DEFAULT_FRAME_BYTES;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  get isFull(): boolean {
    return this.#length >= FULL_BYTES;
  }

  /** The frames since the last call. */
  take(): Buffer {
    const written = Buffer.from(this.#buffer.subarray(0, this.#length));
    this.#length = 0;
    return written;
  }

  raw(bytes: Buffer): void {
    this.#reserve(bytes.length);
    this.#length += bytes.copy(this.#buffer, this.#length);
  }

  /** A header block, in as many frames as it needs; the request has a body. */
  headers(streamId: number, block: Buffer): void {
    for (let at = 0; at < block.length; at += this.maxFrameBytes) {
      const payload = block.subarray(at, at + this.maxFrameBytes);
      const type = at === 0 ? FRAME.headers : FRAME.continuation;
      const flags = at + payload.length === block.length ? FLAG.endHeaders : 0;
      this.#frame({ type, flags, streamId, payload });
    }
  }

  /** `payload` is at most maxFrameBytes long. */
  data(streamId: number, payload: Buffer, options: { isEnd: boolean }): void {
    this.#frame({ type: FRAME.data, flags: options.isEnd ? FLAG.endStream : 0, streamId, payload });
  }

  settings(settings: Partial<Record<keyof typeof SETTING, number>>): void {
    const payload = Buffer.alloc(Object.keys(settings).length * 6);
    Object.entries(settings).forEach(([name, value], at) => {
      payload.writeUInt16BE(SETTING[name as keyof typeof SETTING], at * 6);
      payload.writeUInt32BE(value, at * 6 + 2);
    });
    this.#frame({ type: FRAME.settings, payload });
  }

  settingsAck(): void {
    this.#frame({ type: FRAME.settings, flags: FLAG.ack, payload: Buffer.alloc(0) });
  }

  /** `payload` has 8 bytes. */
  ping(payload: Buffer, options: { isAck: boolean }): void {
    this.#frame({ type: FRAME.ping, flags: options.isAck ? FLAG.ack : 0, payload });
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.#frame({ type: FRAME.windowUpdate, streamId, payload: uint32(bytes) });
  }

  rstStream(streamId: number, code: number): void {
    this.#frame({ type: FRAME.rstStream, streamId, payload: uint32(code) });
  }

  /** This side accepts no streams of the server: the last one is 0. */
  goAway(code: number): void {
    this.#frame({ type: FRAME.goAway, payload: Buffer.concat([uint32(0), uint32(code)]) });
  }

  #frame(frame: { type: number; payload: Buffer; flags?: number; streamId?: number }): void {
    const { type, payload, flags = 0, streamId = 0 } = frame;
    this.#head({ length: payload.length, type, flags, streamId });
    this.raw(payload);
  }

  #head(head: { length: number; type: number; flags: number; streamId: number }): void {
    this.#reserve(FRAME_HEAD_BYTES + head.length);
    this.#length = this.#buffer.writeUIntBE(head.length, this.#length, 3);
    this.#length = this.#buffer.writeUInt8(head.type, this.#length);
    this.#length = this.#buffer.writeUInt8(head.flags, this.#length);
    this.#length = this.#buffer.writeUInt32BE(head.streamId, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + bytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
