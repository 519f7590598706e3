import { randomBytes } from 'node:crypto';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MARKER_BYTES } from './frame.ts';
import { segmentPath, syncFolder, type Segment } from './segment.ts';
import { encodeFrameHead } from './spooled-record.ts';
import type { LogRecord } from '../../ingest/log-record.ts';

/** A segment is sealed by the write that reaches this size. */
const DEFAULT_SEGMENT_BYTES = 8 * 1024 * 1024;

interface WriterOptions {
  folder: string;
  /** Creates the folder before the first segment. */
  isFolderNew?: boolean;
  nextNumber: number;
  segmentBytes?: number;
  /** Called when a new segment is durable in its folder. */
  onSegment: (segment: Segment) => void;
}

/**
 * Appends groups of frames to segments; each call is durable when it resolves. One call at a time.
 */
export class SegmentWriter {
  readonly #options: WriterOptions;
  #number: number;
  #open: { segment: Segment; file: FileHandle } | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#number = options.nextNumber;
  }

  /** Writes all frames with one fdatasync. Rejects on a disk error: then none is written. */
  async write(records: readonly LogRecord[]): Promise<void> {
    const { segment, file } = (this.#open ??= await this.#begin());
    const buffers: Buffer[] = [];
    let bytes = 0;
    for (const record of records) {
      const head = encodeFrameHead(record, segment.marker);
      buffers.push(head, record.value);
      bytes += head.length + record.value.length;
    }
    try {
      await writeAll(file, { buffers, offset: segment.size });
      await file.datasync();
    } catch (error) {
      await this.#cutBack();
      throw error;
    }
    segment.size += bytes;
    segment.records += records.length;
    if (segment.size >= (this.#options.segmentBytes ?? DEFAULT_SEGMENT_BYTES)) await this.seal();
  }

  /** The next write begins a new segment. */
  async seal(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open) open.segment.isOpen = false;
    await open?.file.close().catch(() => undefined);
  }

  async #begin(): Promise<{ segment: Segment; file: FileHandle }> {
    const number = this.#number++;
    const marker = randomBytes(MARKER_BYTES);
    const { folder, isFolderNew } = this.#options;
    const path = segmentPath(folder, { number, marker });
    if (isFolderNew === true) await mkdir(folder, { recursive: true });
    const file = await open(path, 'wx');
    try {
      await syncFolder(folder);
      if (isFolderNew === true) await syncFolder(dirname(folder));
      if (isFolderNew === true) await syncFolder(dirname(dirname(folder)));
    } catch (error) {
      await file.close();
      throw error;
    }
    const segment: Segment = { number, marker, path, size: 0, records: 0, isOpen: true };
    this.#options.onSegment(segment);
    return { segment, file };
  }

  /** Truncates after the durable bytes; the next write begins a new segment (a sync failed). */
  async #cutBack(): Promise<void> {
    const broken = this.#open;
    if (broken) await broken.file.truncate(broken.segment.size).catch(() => undefined);
    await this.seal();
  }
}

async function writeAll(
  file: FileHandle,
  { buffers, offset }: { buffers: Buffer[]; offset: number },
): Promise<void> {
  let rest = buffers.filter((buffer) => buffer.length > 0);
  let at = offset;
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest, at);
    if (bytesWritten === 0) throw new Error('the disk wrote no bytes');
    at += bytesWritten;
    rest = remaining(rest, bytesWritten);
  }
}

/** The buffers without their first `written` bytes. */
function remaining(buffers: Buffer[], written: number): Buffer[] {
  let left = written;
  for (let index = 0; index < buffers.length; index++) {
    const buffer = buffers[index];
    if (!buffer) break;
    if (left < buffer.length) return [buffer.subarray(left), ...buffers.slice(index + 1)];
    left -= buffer.length;
  }
  return [];
}
