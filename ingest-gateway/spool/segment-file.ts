import { open, type FileHandle } from 'node:fs/promises';
import type { DecodedFrames, Range } from './frame.ts';
import { readExactly, readFrames, type Segment } from './segment.ts';

/** The file of the segment that one reader reads at the moment. */
export class SegmentFile {
  #file: { segment: Segment; handle: FileHandle } | undefined;
  #isClosed = false;

  /** Rejects on a disk error, and after `close`. */
  async readFrames(segment: Segment, offset: number): Promise<DecodedFrames> {
    return readFrames(await this.#open(segment), { segment, offset });
  }

  async readBytes(segment: Segment, { start, end }: Range): Promise<Buffer> {
    return readExactly(await this.#open(segment), { offset: start, length: end - start });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close();
  }

  async #open(segment: Segment): Promise<FileHandle> {
    if (this.#file?.segment === segment) return this.#file.handle;
    const old = this.#file;
    this.#file = undefined;
    await old?.handle.close();
    const handle = await open(segment.path, 'r');
    if (this.#isClosed) {
      await handle.close();
      throw new Error('another reader has replaced this one');
    }
    this.#file = { segment, handle };
    return handle;
  }
}
