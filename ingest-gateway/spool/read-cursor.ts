import type { Frame } from './frame.ts';
import type { Segment } from './segment.ts';
import { SegmentFile } from './segment-file.ts';

/** A frame and its segment. */
export interface SpooledFrame extends Frame {
  segment: Segment;
}

/** Bytes outside frames, with their position. */
export interface Damage {
  segment: Segment;
  start: number;
  end: number;
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

/**
 * Reads the frames of segments in order and tracks which are acknowledged. It has one reader at a
 * time: `begin` starts another after the last acknowledged frame, and what an earlier reader still
 * does has no effect.
 */
export class ReadCursor {
  readonly segments: SegmentProgress[] = [];
  #reader = 0;
  #file = new SegmentFile();

  add(segment: Segment): void {
    this.segments.push({
      segment,
      offset: 0,
      acknowledged: 0,
      acknowledgedFrames: 0,
      outstanding: 0,
    });
  }

  /** True when everything durable was read and acknowledged. */
  get isFinished(): boolean {
    return this.segments.every(isFinished);
  }

  get unreadBytes(): number {
    return this.segments.reduce((sum, { segment, offset }) => sum + segment.size - offset, 0);
  }

  /** Starts a reader, and returns its number. */
  begin(): number {
    this.#file.close().catch(() => undefined);
    this.#file = new SegmentFile();
    for (const progress of this.segments) {
      progress.offset = progress.acknowledged;
      progress.outstanding = 0;
    }
    return ++this.#reader;
  }

  /**
   * Next frames of a segment, about `maxBytes`; empty at the end, or for an earlier reader. `keep`
   * gets the damage between them first: while it rejects, the position stays before the damage.
   */
  async read(
    reader: number,
    { maxBytes, keep }: { maxBytes: number; keep: (damage: Damage) => Promise<void> },
  ): Promise<SpooledFrame[]> {
    const progress = this.segments.find(({ segment, offset }) => offset < segment.size);
    if (!progress || reader !== this.#reader) return [];
    const { segment } = progress;
    const file = this.#file;
    const decoded = await file.readFrames(segment, progress.offset);
    let bytes = 0;
    const over = decoded.frames.findIndex(
      (frame, index) => (bytes += frame.end - frame.start) > maxBytes && index > 0,
    );
    const frames = over === -1 ? decoded.frames : decoded.frames.slice(0, over);
    const offset = over === -1 ? decoded.consumed : (frames.at(-1)?.end ?? progress.offset);
    for (const { start, end } of decoded.damage)
      if (end <= offset)
        await keep({ segment, start, end, bytes: await file.readBytes(segment, { start, end }) });
    if (reader !== this.#reader) return [];
    progress.offset = offset;
    progress.outstanding += frames.length;
    return frames.map((frame) => ({ ...frame, segment }));
  }

  /** Frames of one `read`, from its first, are in Kafka. False: an earlier reader read them. */
  acknowledge(reader: number, frames: readonly SpooledFrame[]): boolean {
    const last = frames.at(-1);
    const progress = this.segments.find(({ segment }) => segment === last?.segment);
    if (!last || !progress || reader !== this.#reader) return false;
    progress.acknowledged = last.end;
    progress.acknowledgedFrames += frames.length;
    progress.outstanding -= frames.length;
    return true;
  }

  /** Removes and returns the first segments that were read and acknowledged to their end. */
  removeFinished(): Segment[] {
    const finished: Segment[] = [];
    for (
      let first = this.segments[0];
      first && !first.segment.isOpen && isFinished(first);
      first = this.segments[0]
    ) {
      finished.push(first.segment);
      this.segments.shift();
    }
    return finished;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Damage behind the last frame was kept when it was read. */
function isFinished({ segment, offset, outstanding }: SegmentProgress): boolean {
  return offset === segment.size && outstanding === 0;
}
