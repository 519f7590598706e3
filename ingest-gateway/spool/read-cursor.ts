import { open, type FileHandle } from 'node:fs/promises';
import type { Frame } from './frame.ts';
import { readExactly, readFrames, type Segment } from './segment.ts';

/** A frame and its segment. */
export interface SpooledFrame extends Frame {
  segment: Segment;
}

/** Bytes outside frames, with their position. */
export interface Damage {
  segment: Segment;
  start: number;
  bytes: Buffer;
}

/** How far a segment has been read and acknowledged. */
export interface SegmentProgress {
  segment: Segment;
  /** Where the next read starts. */
  offset: number;
  /** Everything before this is in Kafka. */
  acknowledged: number;
  acknowledgedFrames: number;
  /** Frames that were read and are not acknowledged. */
  outstanding: number;
}

/** Reads the frames of segments in order and tracks which are acknowledged. */
export class ReadCursor {
  readonly segments: SegmentProgress[] = [];
  #file: { segment: Segment; handle: FileHandle } | undefined;

  add(segment: Segment): void {
    this.segments.push({
      segment,
      offset: 0,
      acknowledged: 0,
      acknowledgedFrames: 0,
      outstanding: 0,
    });
  }

  /** True when everything durable was read. */
  get isAtEnd(): boolean {
    return this.segments.every(({ segment, offset }) => offset === segment.size);
  }

  get unreadBytes(): number {
    return this.segments.reduce((sum, { segment, offset }) => sum + segment.size - offset, 0);
  }

  /** Next frames of a segment, about `maxBytes`, and damage between them. Empty at the end. */
  async read(maxBytes: number): Promise<{ frames: SpooledFrame[]; damage: Damage[] }> {
    const progress = this.segments.find(({ segment, offset }) => offset < segment.size);
    if (!progress) return { frames: [], damage: [] };
    const { segment } = progress;
    const file = await this.#open(segment);
    const decoded = await readFrames(file, { segment, offset: progress.offset });
    let bytes = 0;
    const over = decoded.frames.findIndex(
      (frame, index) => (bytes += frame.end - frame.start) > maxBytes && index > 0,
    );
    const frames = over === -1 ? decoded.frames : decoded.frames.slice(0, over);
    progress.offset = over === -1 ? decoded.consumed : (frames.at(-1)?.end ?? progress.offset);
    progress.outstanding += frames.length;
    const damage: Damage[] = [];
    for (const { start, end } of decoded.damage)
      if (end <= progress.offset)
        damage.push({
          segment,
          start,
          bytes: await readExactly(file, { offset: start, length: end - start }),
        });
    return { frames: frames.map((frame) => ({ ...frame, segment })), damage };
  }

  /** These frames, all of one `read`, and everything before them are in Kafka. */
  acknowledge(frames: readonly SpooledFrame[]): void {
    const last = frames.at(-1);
    const progress = this.segments.find(({ segment }) => segment === last?.segment);
    if (!last || !progress) return;
    progress.acknowledged = last.end;
    progress.acknowledgedFrames += frames.length;
    progress.outstanding -= frames.length;
  }

  /** The next read starts after the last acknowledged frame. */
  rewind(): void {
    for (const progress of this.segments) {
      progress.offset = progress.acknowledged;
      progress.outstanding = 0;
    }
  }

  /** Removes and returns the first segments that were read and acknowledged to their end. */
  removeFinished(active: Segment | undefined): Segment[] {
    const finished: Segment[] = [];
    for (
      let first = this.segments[0];
      first && first.segment !== active && isFinished(first);
      first = this.segments[0]
    ) {
      finished.push(first.segment);
      this.segments.shift();
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

function isFinished({ segment, offset, outstanding }: SegmentProgress): boolean {
  return offset === segment.size && outstanding === 0;
}
