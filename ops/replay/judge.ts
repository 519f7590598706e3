import { keptFrom, type Retentions } from '../../events/retention.ts';
import { decideReplay } from '../../pipeline/replay/decide.ts';
import { eventOffsetKey } from '../../schemas/log-position.ts';
import { CURRENT_EPOCH } from '../../schemas/log-position.ts';
import { noCounts, type Difference, type ReplayCounts } from './counts.ts';
import type { SourceBatch, SourceEvent } from './source.ts';
import { differingColumns, rowTexts, type StoredRows } from './stored-rows.ts';

export interface Judged {
  counts: ReplayCounts;
  /** Events whose rows are to be added, in order, by raw partition. */
  fresh: Map<number, SourceEvent[]>;
  /** Events whose row stands already. */
  standing: SourceEvent[];
  differences: Difference[];
}

export interface Filter {
  account: number | undefined;
  event: string | undefined;
}

interface JudgeOptions {
  batch: SourceBatch;
  filter: Filter;
  stored: StoredRows;
  retentions: Retentions;
  /** ms since the epoch */
  now: number;
}

/** Looks up what is stored of a batch and decides every event of it. */
export async function judge({
  batch,
  filter,
  stored,
  retentions,
  now,
}: JudgeOptions): Promise<Judged> {
  const wanted = batch.events.filter((event) => isWanted(event, filter));
  const judged: Judged = {
    counts: {
      ...noCounts(),
      records: batch.last - batch.first + 1,
      events: wanted.length,
      unreadable: batch.unreadable,
    },
    fresh: new Map(),
    standing: [],
    differences: [],
  };
  for (const [partition, events] of Map.groupBy(wanted, (event) => event.partition)) {
    const rows = await stored.at(events);
    const missing = events.filter((event) => event.row && !rows.has(eventOffsetKey(event.at)));
    // Where the pipeline published the place, no other one has its key: nothing to look for.
    const twins = await stored.withTwin(
      missing.filter(({ covered, said }) => !covered || said === 'dead'),
    );
    const added = new Set<string>();
    const fresh: SourceEvent[] = [];
    for (const event of events) {
      const row = rows.get(eventOffsetKey(event.at));
      const columns = row && event.row ? differingColumns(row, rowTexts(event.row)) : [];
      const verdict = decideReplay({
        stored: row !== undefined,
        differs: columns.length > 0,
        verdict: event.said,
        storedElsewhere: twins.has(event) || added.has(event.claim),
        expired:
          event.row !== undefined &&
          event.row.timestamp < keptFrom(retentions, event.accountId, now),
        processable: event.row !== undefined,
      });
      judged.counts[verdict]++;
      if (verdict === 'new') {
        added.add(event.claim);
        if (event.said === 'dead') judged.counts.revived++;
        fresh.push(event);
      }
      if (verdict === 'stored' || verdict === 'would_change') judged.standing.push(event);
      if (verdict === 'would_change') judged.differences.push(differenceOf(event, columns));
    }
    if (fresh.length > 0) judged.fresh.set(partition, fresh);
  }
  return judged;
}

function isWanted({ accountId, row }: SourceEvent, { account, event }: Filter): boolean {
  return (
    (account === undefined || accountId === account) &&
    (event === undefined || row?.event === event)
  );
}

function differenceOf(
  { partition, at, accountId, messageId }: SourceEvent,
  columns: string[],
): Difference {
  return {
    place: `${CURRENT_EPOCH}/${partition}/${at.offset}/${at.index}`,
    account: accountId,
    message_id: messageId,
    columns,
  };
}
