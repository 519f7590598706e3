import { open, stat } from 'node:fs/promises';
import { isTornTail, type Range } from './frame.ts';
import type { SpooledEvents } from './spooled-events.ts';
import type { Quarantine } from './quarantine.ts';
import { listSegments, readExactly, readFrames, removeFile, type Segment } from './segment.ts';
import { basename } from 'node:path';

export interface Recovered {
  /** Segments that hold at least one whole frame, in order. */
  segments: Segment[];
  /** Number of the next segment. */
  nextNumber: number;
  /** Torn segment tails that were cut off; their requests were never answered 200. */
  torn: number;
}

/**
 * Reads every segment that an earlier process left: counts its frames, cuts off a torn tail,
 * quarantines damaged bytes and removes empty files.
 */
export async function recoverSegments(options: {
  folder: string;
  quarantine: Quarantine;
  events: SpooledEvents;
}): Promise<Recovered> {
  const recovered: Recovered = { segments: [], nextNumber: 1, torn: 0 };
  for (const segment of await listSegments(options.folder)) {
    recovered.nextNumber = segment.number + 1;
    segment.size = (await stat(segment.path)).size;
    if (await recoverSegment(segment, options)) recovered.torn++;
    if (segment.records > 0) recovered.segments.push(segment);
    else await removeFile(segment.path);
  }
  return recovered;
}

/** True when the segment had a torn tail. */
async function recoverSegment(
  segment: Segment,
  { quarantine, events }: { quarantine: Quarantine; events: SpooledEvents },
): Promise<boolean> {
  const file = await open(segment.path, 'r+');
  try {
    let damage: Range | undefined;
    let isTorn = false;
    for (let offset = 0; offset < segment.size;) {
      const decoded = await readFrames(file, { segment, offset });
      segment.records += decoded.frames.length;
      events.addFrames(decoded.frames);
      for (const range of decoded.damage) {
        if (damage?.end === range.start) damage.end = range.end;
        else damage = await keep(damage, range);
      }
      offset = decoded.consumed;
    }
    if (damage?.end === segment.size) isTorn = await cutTornTail(damage);
    if (!isTorn) await keep(damage, undefined);
    return isTorn;

    async function keep<T extends Range | undefined>(
      range: Range | undefined,
      next: T,
    ): Promise<T> {
      if (range) {
        const bytes = await readExactly(file, {
          offset: range.start,
          length: range.end - range.start,
        });
        await quarantine.keep({ name: `${basename(segment.path)}-${range.start}.damaged`, bytes });
      }
      return next;
    }

    async function cutTornTail({ start, end }: Range): Promise<boolean> {
      if (
        !isTornTail(await readExactly(file, { offset: start, length: end - start }), segment.marker)
      )
        return false;
      await file.truncate(start);
      await file.datasync();
      segment.size = start;
      return true;
    }
  } finally {
    await file.close();
  }
}
