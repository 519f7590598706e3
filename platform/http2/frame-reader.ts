import { DEFAULT_FRAME_BYTES, ERROR, FRAME_HEAD_BYTES, ProtocolError } from './frames.ts';

export interface Frame {
  type: number;
  flags: number;
  streamId: number;
  /** Part of a received chunk: whoever keeps it copies it. */
  payload: Buffer;
}

/** Cuts the bytes of a connection into frames. Holds at most one incomplete frame. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  #rest: Buffer | undefined;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  /** Throws ProtocolError for a frame that is longer than this side allows. */
  push(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD_BYTES) {
      const length = bytes.readUIntBE(at, 3);
      if (length > DEFAULT_FRAME_BYTES)
        throw new ProtocolError(ERROR.frameSize, `the server sent a frame of ${length} bytes`);
      const end = at + FRAME_HEAD_BYTES + length;
      if (bytes.length < end) break;
      this.#onFrame({
        type: bytes.readUInt8(at + 3),
        flags: bytes.readUInt8(at + 4),
        streamId: bytes.readUInt32BE(at + 5) & 0x7fffffff,
        payload: bytes.subarray(at + FRAME_HEAD_BYTES, end),
      });
      at = end;
    }
    // A copy: a part would keep the whole chunk in memory.
    this.#rest = at < bytes.length ? Buffer.from(bytes.subarray(at)) : undefined;
  }
}

/** The payload of DATA or HEADERS without its padding. Throws ProtocolError. */
export function withoutPadding(payload: Buffer): Buffer {
  const padding = payload[0];
  if (padding === undefined || padding >= payload.length)
    throw new ProtocolError(ERROR.protocol, 'the padding is longer than the frame');
  return payload.subarray(1, payload.length - padding);
}
