import { crc32c } from '../../platform/crc32c.ts';

/**
 * A frame is: marker (8 bytes), length of the payload (u32), CRC-32C over length and payload (u32),
 * payload; numbers are little endian. The marker is random for each segment and part of its file
 * name. A reader finds the next frame after damaged bytes by it. Clients cannot know it, so no body
 * can imitate a frame.
 */
export const MARKER_BYTES = 8;
export const FRAME_HEADER_BYTES = 16;
/** A raw record holds at most one request body, and Kafka accepts no larger record. */
export const MAX_PAYLOAD_BYTES = 17 * 1024 * 1024;

/** Bytes from `start` up to, not including, `end`. */
export interface Range {
  start: number;
  end: number;
}

export interface Frame extends Range {
  payload: Buffer;
}

export interface DecodedFrames {
  frames: Frame[];
  /** Ranges outside valid frames, in order. */
  damage: Range[];
  /** Bytes that were decoded; the caller prepends the rest to the next bytes. */
  consumed: number;
}

/**
 * Writes the header of a frame into `target`, whose bytes from FRAME_HEADER_BYTES on are the start
 * of the payload; `rest` is the remainder.
 */
export function sealFrame(
  target: Buffer,
  { marker, rest }: { marker: Buffer; rest: Uint8Array },
): void {
  marker.copy(target, 0, 0, MARKER_BYTES);
  target.writeUInt32LE(target.length - FRAME_HEADER_BYTES + rest.length, MARKER_BYTES);
  target.writeUInt32LE(checkOf(target, { start: 0, end: target.length }, rest), MARKER_BYTES + 4);
}

const NOTHING = new Uint8Array(0);

function checkOf(bytes: Buffer, { start, end }: Range, rest: Uint8Array = NOTHING): number {
  const length = crc32c(bytes.subarray(start + MARKER_BYTES, start + MARKER_BYTES + 4));
  return crc32c(rest, crc32c(bytes.subarray(start + FRAME_HEADER_BYTES, end), length));
}

/** Decodes whole frames. With `isEnd` nothing follows: the rest is damage. Never throws. */
export function decodeFrames({
  bytes,
  marker,
  isEnd,
}: {
  bytes: Buffer;
  marker: Buffer;
  isEnd: boolean;
}): DecodedFrames {
  const frames: Frame[] = [];
  const damage: Range[] = [];
  let good = 0;
  let search = 0;
  const stop = (consumed: number): DecodedFrames => {
    if (consumed > good) damage.push({ start: good, end: consumed });
    return { frames, damage, consumed };
  };
  for (;;) {
    const start = bytes.indexOf(marker, search);
    if (start === -1)
      return stop(isEnd ? bytes.length : Math.max(good, bytes.length - MARKER_BYTES + 1));
    const end = frameEnd(bytes, start);
    if (end === undefined || end > bytes.length) {
      if (!isEnd && (end === undefined || end - start <= FRAME_HEADER_BYTES + MAX_PAYLOAD_BYTES))
        return stop(start);
      search = start + 1;
      continue;
    }
    if (checkOf(bytes, { start, end }) !== bytes.readUInt32LE(start + MARKER_BYTES + 4)) {
      search = start + 1;
      continue;
    }
    if (start > good) damage.push({ start: good, end: start });
    frames.push({ start, end, payload: bytes.subarray(start + FRAME_HEADER_BYTES, end) });
    good = search = end;
  }
}

/** The end of the frame at `start` by its header; undefined when the header is incomplete. */
function frameEnd(bytes: Buffer, start: number): number | undefined {
  if (start + FRAME_HEADER_BYTES > bytes.length) return undefined;
  return start + FRAME_HEADER_BYTES + bytes.readUInt32LE(start + MARKER_BYTES);
}

/**
 * True when the damaged tail of a segment is a torn write: the start of a frame, or zeros. Anything
 * else was once written completely and is damaged now.
 */
export function isTornTail(tail: Buffer, marker: Buffer): boolean {
  if (tail.every((byte) => byte === 0)) return true;
  const shown = Math.min(tail.length, MARKER_BYTES);
  if (!tail.subarray(0, shown).equals(marker.subarray(0, shown))) return false;
  const end = frameEnd(tail, 0);
  if (end === undefined) return true;
  if (end <= tail.length || end > FRAME_HEADER_BYTES + MAX_PAYLOAD_BYTES) return false;
  return !isWholeBeyondLength(tail);
}

/** True when only the length of the frame is damaged: with the real one its checksum is right. */
function isWholeBeyondLength(tail: Buffer): boolean {
  const frame = Buffer.from(tail);
  frame.writeUInt32LE(tail.length - FRAME_HEADER_BYTES, MARKER_BYTES);
  const check = frame.readUInt32LE(MARKER_BYTES + 4);
  return checkOf(frame, { start: 0, end: frame.length }) === check;
}
