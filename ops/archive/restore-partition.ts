import { CommandError } from '../../cli/command.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import { appendAtOffsets, emptyRecords, WINDOW } from '../log/rewrite/append-at-offsets.ts';
import type { ArchiveStore } from './archive-store.ts';
import { decodeObject } from './object-format.ts';
import type { RestorePlan } from './plan.ts';

interface Writer {
  store: Pick<ArchiveStore, 'get'>;
  producer: Pick<LogProducer, 'publish'>;
  signal: AbortSignal;
}

const NOTHING = Buffer.alloc(0);

/**
 * Appends what the plan has from `to.next` on, each record at its own offset; one object is in
 * memory at a time. Offsets before the plan are filled with empty records: the caller deletes them.
 */
export async function restorePartition(
  { store, producer, signal }: Writer,
  { plan, to }: { plan: RestorePlan; to: { topic: string; partition: number; next: number } },
): Promise<void> {
  let { next } = to;
  while (next < plan.low) {
    signal.throwIfAborted();
    const count = Math.min(WINDOW, plan.low - next);
    await appendAtOffsets(producer, to, emptyRecords(next, count));
    next += count;
  }
  for (const piece of plan.pieces) {
    if (piece.to <= next) continue;
    const records = (await decodeObject(await store.get(piece.name)))
      .filter(({ offset }) => offset >= Math.max(piece.from, next) && offset < piece.to)
      .map(({ value, ...record }) => ({ ...record, value: value ?? NOTHING }));
    if (records.length !== piece.to - Math.max(piece.from, next))
      throw new CommandError(
        `${piece.name} does not hold all records that it names: it is damaged`,
      );
    for (let at = 0; at < records.length; at += WINDOW) {
      signal.throwIfAborted();
      await appendAtOffsets(producer, to, records.slice(at, at + WINDOW));
    }
    next = piece.to;
  }
}
