import { open, stat } from 'node:fs/promises';
import { isTornTail, type Range } from './frame.ts';
import type { SpooledEvents } from './spooled-events.ts';
import type { Quarantine } from './quarantine.ts';
import { listSegments, readExactly, readFrames, removeFile, type Segment } from './segment.ts';
import { basename } from 'node:path';

/** The name of damaged bytes in the quarantine. */
export function damagedName(segment: Segment, { start, end }: Range): string {
  return `${basename(segment.path)}-${start}-${end}.damaged`;
}

export interface Recovered {
  /** Segments with a whole frame, or with damage that could not be kept; in order. */
  segments: Segment[];
  /** Number of the next segment. */
  nextNumber: number;
  /** Torn segment tails that were cut off; their requests were never answered 200. */
  torn: number;
}

/**
 * Reads every segment that an earlier process left: counts its frames, cuts off a torn tail,
 * quarantines damaged bytes and removes empty files. Damage that cannot be kept stays where it is:
 * whoever reads the segment finds it again.
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
    const { isTorn, isKept } = await recoverSegment(segment, options);
    if (isTorn) recovered.torn++;
    if (segment.records > 0 || !isKept) recovered.segments.push(segment);
    else await removeFile(segment.path);
  }
  return recovered;
}

/** `isKept`: everything damaged is in the quarantine. */
async function recoverSegment(
  segment: Segment,
  { quarantine, events }: { quarantine: Quarantine; events: SpooledEvents },
): Promise<{ isTorn: boolean; isKept: boolean }> {
  const file = await open(segment.path, 'r+');
  let isKept = true;
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
    return { isTorn, isKept };

    async function keep<T extends Range | undefined>(
      range: Range | undefined,
      next: T,
    ): Promise<T> {
      if (range) {
        const bytes = await readExactly(file, {
          offset: range.start,
          length: range.end - range.start,
        });
        const piece = { name: damagedName(segment, range), bytes };
        isKept =
          (await quarantine.keep(piece).then(
            () => true,
            () => false,
          )) && isKept;
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
