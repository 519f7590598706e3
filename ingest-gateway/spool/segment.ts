import { open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeFrames, MARKER_BYTES, type DecodedFrames } from './frame.ts';

/** One append-only file of the spool. */
export interface Segment {
  number: number;
  marker: Buffer;
  path: string;
  /** Bytes that are known to be on disk; later ones are never read. */
  size: number;
  /** Whole frames within `size`. */
  records: number;
  /** True while it may be written to. */
  isOpen: boolean;
}

/** `<number>-<marker>.spool`: names sort by number, and damage to the file spares the marker. */
export function segmentPath(
  folder: string,
  { number, marker }: Pick<Segment, 'number' | 'marker'>,
): string {
  return join(folder, `${String(number).padStart(12, '0')}-${marker.toString('hex')}.spool`);
}

/** The segments of a folder in order; `size` and `records` are still 0. */
export async function listSegments(folder: string): Promise<Segment[]> {
  const segments: Segment[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const parts = /^(\d{12})-([0-9a-f]{16})\.spool$/.exec(name);
    if (!parts?.[1] || !parts[2]) continue;
    const marker = Buffer.from(parts[2], 'hex');
    if (marker.length === MARKER_BYTES)
      segments.push({
        number: Number(parts[1]),
        marker,
        path: join(folder, name),
        size: 0,
        records: 0,
        isOpen: false,
      });
  }
  return segments;
}

/** Bytes read at once; a larger frame is read whole. */
const CHUNK_BYTES = 1024 * 1024;

/** Decodes at least one frame from `offset` if there is one. Rejects on a disk error. */
export async function readFrames(
  file: FileHandle,
  { segment, offset }: { segment: Segment; offset: number },
): Promise<DecodedFrames> {
  for (let length = CHUNK_BYTES; ; length *= 2) {
    const end = Math.min(segment.size, offset + length);
    const bytes = await readExactly(file, { offset, length: end - offset });
    const decoded = decodeFrames({ bytes, marker: segment.marker, isEnd: end === segment.size });
    if (decoded.consumed === 0 && end < segment.size) continue;
    return {
      frames: decoded.frames.map((frame) => ({
        ...frame,
        start: frame.start + offset,
        end: frame.end + offset,
      })),
      damage: decoded.damage.map((range) => ({
        start: range.start + offset,
        end: range.end + offset,
      })),
      consumed: decoded.consumed + offset,
    };
  }
}

export async function readExactly(
  file: FileHandle,
  { offset, length }: { offset: number; length: number },
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0)
      throw new Error(
        `the segment is ${length - filled} bytes shorter than before: another process truncated it`,
      );
    filled += bytesRead;
  }
  return bytes;
}

/** Makes created and removed files of a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Removes a file, which need not exist. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
}
