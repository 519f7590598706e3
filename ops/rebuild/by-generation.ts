import type { LogLayout } from '../../platform/log/layout.ts';
import type { SourceBatch } from '../replay/source.ts';
import type { RebuildSource } from './request.ts';

/** How many growths of the log come before an epoch. */
export function generationsOf(layout: Pick<LogLayout, 'history'> | undefined) {
  const starts = layout?.history.map(({ epoch }) => epoch) ?? [];
  return (epoch: number): number => starts.filter((start) => start <= epoch).length;
}

/**
 * The parts of a batch, each within one generation of the log. The events of a person lie in one
 * partition of each generation, so a fold over all partitions reads one generation after the other.
 */
export function splitByGeneration<Row>(
  batch: SourceBatch<Row>,
  { source, generationOf }: { source: RebuildSource; generationOf: (epoch: number) => number },
): SourceBatch<Row>[] {
  const [head] = batch.events;
  if (!head) return [batch];
  const first = generationOf(head.epoch);
  const cut = batch.events.findIndex(({ epoch }) => generationOf(epoch) !== first);
  if (cut === -1) return [batch];
  const events = batch.events.slice(cut);
  // Positions are offsets of events.raw; records of another source are read again from the first.
  const next = source === 'raw' ? (events[0]?.at.offset ?? batch.first) : batch.first;
  return [
    { ...batch, events: batch.events.slice(0, cut), last: next - 1, unreadable: 0 },
    ...splitByGeneration({ ...batch, events, first: next }, { source, generationOf }),
  ];
}
