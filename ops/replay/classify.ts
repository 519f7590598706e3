import { REPLAY_VERDICTS, decideReplay, type ReplayVerdict } from '../../pipeline/replay/decide.ts';
import { keptFrom, type Retentions } from '../../events/retention.ts';
import { CURRENT_EPOCH, eventOffsetKey } from '../../schemas/log-position.ts';
import type { SourceBatch, SourceEvent } from './source.ts';
import { differingColumns, rowTexts, type StoredRows } from './stored-rows.ts';

/** What a replay found and did, in events; `records` and `unreadable` count records of the log. */
export type ReplayCounts = Record<ReplayVerdict, number> & {
  records: number;
  events: number;
  unreadable: number;
  /** New rows that ClickHouse refused: they are not stored. */
  refused: number;
  /** New rows that were dead when the pipeline took them. */
  revived: number;
};

export function emptyCounts(): ReplayCounts {
  const verdicts = Object.fromEntries(REPLAY_VERDICTS.map((verdict) => [verdict, 0])) as Record<
    ReplayVerdict,
    number
  >;
  return { ...verdicts, records: 0, events: 0, unreadable: 0, refused: 0, revived: 0 };
}

export function addCounts(a: ReplayCounts, b: ReplayCounts): ReplayCounts {
  return Object.fromEntries(
    Object.entries(a).map(([name, count]) => [name, count + b[name as keyof ReplayCounts]]),
  ) as ReplayCounts;
}

/** A stored row that today's normalisation would write otherwise; shown, never changed. */
export interface Difference {
  /** epoch/partition/offset/index */
  place: string;
  account: number;
  message_id: string;
  columns: string[];
}

export interface ClassifiedBatch {
  counts: ReplayCounts;
  /** Events whose rows are to be added, in order, by raw partition. */
  fresh: Map<number, SourceEvent[]>;
  /** Events whose row stands already. */
  alreadyStored: SourceEvent[];
  differences: Difference[];
}

export interface EventFilter {
  account: number | undefined;
  event: string | undefined;
}

interface ClassifyOptions {
  batch: SourceBatch;
  filter: EventFilter;
  stored: StoredRows;
  retentions: Retentions;
  /** ms since the epoch */
  now: number;
}

/** Looks up what is stored of a batch and decides every event of it. */
export async function classifyBatch({
  batch,
  filter,
  stored,
  retentions,
  now,
}: ClassifyOptions): Promise<ClassifiedBatch> {
  const wanted = batch.events.filter((event) => isWanted(event, filter));
  const judged: ClassifiedBatch = {
    counts: {
      ...emptyCounts(),
      records: batch.last - batch.first + 1,
      events: wanted.length,
      unreadable: batch.unreadable,
    },
    fresh: new Map(),
    alreadyStored: [],
    differences: [],
  };
  for (const [partition, events] of Map.groupBy(wanted, (event) => event.partition)) {
    const rows = await stored.byPosition(events);
    const missing = events.filter((event) => event.row && !rows.has(eventOffsetKey(event.at)));
    // Where the pipeline published the place, no other one has its key: nothing to look for.
    const twins = await stored.withDuplicate(
      missing.filter(({ verdictsKnown, verdict }) => !verdictsKnown || verdict === 'dead'),
    );
    const added = new Set<string>();
    const fresh: SourceEvent[] = [];
    for (const event of events) {
      const row = rows.get(eventOffsetKey(event.at));
      const columns = row && event.row ? differingColumns(row, rowTexts(event.row)) : [];
      const verdict = decideReplay({
        stored: row !== undefined,
        differs: columns.length > 0,
        verdict: event.verdict,
        storedElsewhere: twins.has(event) || added.has(event.claim),
        expired:
          event.row !== undefined &&
          event.row.timestamp < keptFrom(retentions, event.accountId, now),
        processable: event.row !== undefined,
      });
      judged.counts[verdict]++;
      if (verdict === 'new') {
        added.add(event.claim);
        if (event.verdict === 'dead') judged.counts.revived++;
        fresh.push(event);
      }
      if (verdict === 'stored' || verdict === 'would_change') judged.alreadyStored.push(event);
      if (verdict === 'would_change') judged.differences.push(differenceOf(event, columns));
    }
    if (fresh.length > 0) judged.fresh.set(partition, fresh);
  }
  return judged;
}

function isWanted({ accountId, row }: SourceEvent, { account, event }: EventFilter): boolean {
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
