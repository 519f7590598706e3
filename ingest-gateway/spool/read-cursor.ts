import { open, type FileHandle } from 'node:fs/promises';
import type { Frame } from './frame.ts';
import { readExactly, readFrames, type Segment } from './segment.ts';

/** A frame with the segment that it stands in. */
export interface SpooledFrame extends Frame {
  segment: Segment;
}

/** Bytes that are no frame, with their place. */
export interface Damage {
  segment: Segment;
  start: number;
  bytes: Buffer;
}

/** A segment as a reader goes through it. */
export interface Reading {
  segment: Segment;
  /** Where reading goes on. */
  offset: number;
  /** Up to here everything is in the log. */
  acknowledged: number;
  /** Frames acknowledged so far. */
  taken: number;
  /** Frames that were read and not acknowledged yet. */
  outstanding: number;
}

/** Reads the frames of segments in order, and knows up to where they were acknowledged. */
export class ReadCursor {
  readonly readings: Reading[] = [];
  #file: { segment: Segment; handle: FileHandle } | undefined;

  add(segment: Segment): void {
    this.readings.push({ segment, offset: 0, acknowledged: 0, taken: 0, outstanding: 0 });
  }

  /** True when everything durable was read. */
  get isAtEnd(): boolean {
    return this.readings.every(({ segment, offset }) => offset === segment.size);
  }

  get unreadBytes(): number {
    return this.readings.reduce((sum, { segment, offset }) => sum + segment.size - offset, 0);
  }

  /**
   * The next frames of one segment, about `maxBytes` of them; damage on the way is handed over.
   * Empty at the end. Rejects on a disk error.
   */
  async read(maxBytes: number): Promise<{ frames: SpooledFrame[]; damage: Damage[] }> {
    const reading = this.readings.find(({ segment, offset }) => offset < segment.size);
    if (!reading) return { frames: [], damage: [] };
    const { segment } = reading;
    const file = await this.#open(segment);
    const decoded = await readFrames(file, { segment, offset: reading.offset });
    let bytes = 0;
    const over = decoded.frames.findIndex(
      (frame, index) => (bytes += frame.end - frame.start) > maxBytes && index > 0,
    );
    const frames = over === -1 ? decoded.frames : decoded.frames.slice(0, over);
    reading.offset = over === -1 ? decoded.consumed : (frames.at(-1)?.end ?? reading.offset);
    reading.outstanding += frames.length;
    const damage: Damage[] = [];
    for (const { start, end } of decoded.damage)
      if (end <= reading.offset)
        damage.push({
          segment,
          start,
          bytes: await readExactly(file, { offset: start, length: end - start }),
        });
    return { frames: frames.map((frame) => ({ ...frame, segment })), damage };
  }

  /** These frames, all of one `read`, and what stood before them are in the log. */
  acknowledge(frames: readonly SpooledFrame[]): void {
    const last = frames.at(-1);
    const reading = this.readings.find(({ segment }) => segment === last?.segment);
    if (!last || !reading) return;
    reading.acknowledged = last.end;
    reading.taken += frames.length;
    reading.outstanding -= frames.length;
  }

  /** Reading begins again behind what was acknowledged. */
  rewind(): void {
    for (const reading of this.readings) {
      reading.offset = reading.acknowledged;
      reading.outstanding = 0;
    }
  }

  /** Forgets the first segments that were read and acknowledged to their end, and answers them. */
  takeFinished(active: Segment | undefined): Segment[] {
    const finished: Segment[] = [];
    for (
      let first = this.readings[0];
      first && first.segment !== active && isFinished(first);
      first = this.readings[0]
    ) {
      finished.push(first.segment);
      this.readings.shift();
    }
    return finished;
  }

  async close(): Promise<void> {
    await this.#file?.handle.close();
    this.#file = undefined;
  }

  async #open(segment: Segment): Promise<FileHandle> {
    if (this.#file?.segment === segment) return this.#file.handle;
    await this.close();
    const handle = await open(segment.path, 'r');
    this.#file = { segment, handle };
    return handle;
  }
}

function isFinished({ segment, offset, outstanding }: Reading): boolean {
  return offset === segment.size && outstanding === 0;
}
