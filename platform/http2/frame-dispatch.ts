import { withoutPadding, type Frame } from './frame-reader.ts';
import { ERROR, FLAG, FRAME, MAX_WINDOW_BYTES, ProtocolError, SETTING } from './frames.ts';
import { HeaderDecoder, type Header } from './header-decoder.ts';

/** What a server's frames mean to the side that sends requests. */
export interface FrameHandlers {
  onSettings(settings: ServerSettings): void;
  /** Headers of an answer; `isEnd`: it has no body, or this is the end of it. */
  onHeaders(streamId: number, headers: readonly Header[], isEnd: boolean): void;
  /** `bytes`: what counts for windows. */
  onData(streamId: number, data: Buffer, options: { isEnd: boolean; bytes: number }): void;
  onReset(streamId: number, code: number): void;
  onGoAway(goAway: GoAway): void;
  onPing(payload: Buffer, options: { isAck: boolean }): void;
  onWindowUpdate(streamId: number, bytes: number): void;
}

export type ServerSettings = Partial<Record<keyof typeof SETTING, number>>;

export interface GoAway {
  /** Streams above it were certainly not processed. */
  lastStreamId: number;
  code: number;
  /** What the server says about it. */
  debug: string;
}

interface OpenBlock {
  streamId: number;
  isEnd: boolean;
  parts: Buffer[];
  bytes: number;
}

const MAX_BLOCK_BYTES = 64 * 1024;
const MAX_BLOCK_FRAMES = 16;
const MAX_DEBUG_BYTES = 200;
/** A server that sends more frames than this without the end of any answer keeps us busy only. */
const MAX_IDLE_FRAMES = 10_000;

/** Checks frames, decodes them, and calls what they mean. Everything throws ProtocolError. */
export class FrameDispatch {
  readonly #handlers: FrameHandlers;
  readonly #decoder = new HeaderDecoder();
  #block: OpenBlock | undefined;
  #hasSettings = false;
  #idleFrames = 0;

  constructor(handlers: FrameHandlers) {
    this.#handlers = handlers;
  }

  /** An answer ended. */
  progress(): void {
    this.#idleFrames = 0;
  }

  push(frame: Frame): void {
    if (++this.#idleFrames > MAX_IDLE_FRAMES)
      throw new ProtocolError(ERROR.enhanceYourCalm, 'the server sends frames without answers');
    if (this.#block && frame.type !== FRAME.continuation) throw unexpected('within headers');
    if (!this.#hasSettings && frame.type !== FRAME.settings) throw unexpected('before SETTINGS');
    this.#dispatch(frame);
  }

  #dispatch({ type, flags, streamId, payload }: Frame): void {
    const isEnd = (flags & FLAG.endStream) !== 0;
    const isAck = (flags & FLAG.ack) !== 0;
    switch (type) {
      case FRAME.data: {
        const data = (flags & FLAG.padded) === 0 ? payload : withoutPadding(payload);
        return this.#handlers.onData(streamId, data, { isEnd, bytes: payload.length });
      }
      case FRAME.headers: {
        const unpadded = (flags & FLAG.padded) === 0 ? payload : withoutPadding(payload);
        const part = (flags & FLAG.priority) === 0 ? unpadded : unpadded.subarray(5);
        this.#block = { streamId, isEnd, parts: [], bytes: 0 };
        return this.#continue(part, flags);
      }
      case FRAME.continuation:
        if (this.#block?.streamId !== streamId) throw unexpected('without headers');
        return this.#continue(payload, flags);
      case FRAME.settings:
        return this.#settings(payload, isAck);
      case FRAME.rstStream:
        return this.#handlers.onReset(streamId, uint32(payload, 4));
      case FRAME.windowUpdate:
        return this.#handlers.onWindowUpdate(streamId, uint32(payload, 4) & MAX_WINDOW_BYTES);
      case FRAME.ping:
        if (payload.length !== 8) throw wrongSize();
        return this.#handlers.onPing(payload, { isAck });
      case FRAME.goAway: {
        const lastStreamId = uint32(payload) & MAX_WINDOW_BYTES;
        const code = uint32(payload.subarray(4));
        const debug = payload.toString('utf8', 8, 8 + MAX_DEBUG_BYTES);
        return this.#handlers.onGoAway({ lastStreamId, code, debug });
      }
      case FRAME.pushPromise:
        throw unexpected('although pushes are switched off');
      default:
      // PRIORITY, and extensions.
    }
  }

  #continue(part: Buffer, flags: number): void {
    const block = this.#block;
    if (!block) return;
    block.parts.push(part);
    block.bytes += part.length;
    if (block.bytes > MAX_BLOCK_BYTES || block.parts.length > MAX_BLOCK_FRAMES)
      throw new ProtocolError(ERROR.enhanceYourCalm, 'the headers of an answer are too long');
    if ((flags & FLAG.endHeaders) === 0) {
      // The chunk that it is part of is overwritten by nobody, but should not be kept.
      block.parts[block.parts.length - 1] = Buffer.from(part);
      return;
    }
    this.#block = undefined;
    const bytes = block.parts.length === 1 ? part : Buffer.concat(block.parts);
    this.#handlers.onHeaders(block.streamId, this.#decoder.decode(bytes), block.isEnd);
  }

  #settings(payload: Buffer, isAck: boolean): void {
    if (payload.length % 6 !== 0 || (isAck && payload.length > 0)) throw wrongSize();
    if (isAck) return;
    this.#hasSettings = true;
    const settings: ServerSettings = {};
    for (let at = 0; at < payload.length; at += 6) {
      const id = payload.readUInt16BE(at);
      const name = SETTING_NAMES.get(id);
      if (name !== undefined) settings[name] = payload.readUInt32BE(at + 2);
    }
    this.#handlers.onSettings(settings);
  }
}

const SETTING_NAMES = new Map(
  Object.entries(SETTING).map(([name, id]) => [id as number, name as keyof typeof SETTING]),
);

/** `length`: what the payload must have. */
function uint32(payload: Buffer, length?: number): number {
  if (payload.length < 4 || (length !== undefined && payload.length !== length)) throw wrongSize();
  return payload.readUInt32BE();
}

function wrongSize(): ProtocolError {
  return new ProtocolError(ERROR.frameSize, 'a frame of the server has a wrong size');
}

function unexpected(when: string): ProtocolError {
  return new ProtocolError(ERROR.protocol, `the server sent a frame ${when}`);
}
