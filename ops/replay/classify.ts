import { REPLAY_VERDICTS, decideReplay, type ReplayVerdict } from '../../pipeline/replay/decide.ts';
import { keptFrom, type Retentions } from '../../events/retention.ts';
import type { SourceBatch, SourceEvent } from './source.ts';
import { differingColumns, rowTexts, storedKey, type StoredRows } from './stored-rows.ts';
import type { WaitingDeadLetters } from './waiting-dead-letters.ts';

/** Result of a replay in events; `records` and `unreadable` count records of the log. */
export type ReplayCounts = Record<ReplayVerdict, number> & {
  records: number;
  events: number;
  unreadable: number;
  /** New rows that ClickHouse refused to store. */
  refused: number;
  /** Always 0: only `./ravand dlq redrive` brings dead letters back. `--json` keeps the key. */
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

/** A stored row that differs from today's normalisation; reported, never changed. */
export interface Difference {
  /** epoch/partition/offset/index */
  place: string;
  account: number;
  message_id: string;
  columns: string[];
}

export interface ClassifiedBatch {
  counts: ReplayCounts;
  /** Events whose rows are added, in order, by raw partition. */
  fresh: Map<number, SourceEvent[]>;
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
  waiting: Pick<WaitingDeadLetters, 'among'>;
  retentions: Retentions;
  /** ms since the epoch */
  now: number;
}

/** Fetches the stored rows of a batch and decides the verdict of every event. */
export async function classifyBatch({
  batch,
  filter,
  stored,
  waiting,
  retentions,
  now,
}: ClassifyOptions): Promise<ClassifiedBatch> {
  const wanted = batch.events.filter((event) => isWanted(event, filter));
  const classified: ClassifiedBatch = {
    counts: {
      ...emptyCounts(),
      records: batch.last - batch.first + 1,
      events: wanted.length,
      unreadable: batch.unreadable,
    },
    fresh: new Map(),
    differences: [],
  };
  for (const [partition, events] of Map.groupBy(wanted, (event) => event.partition)) {
    const rows = await stored.byPosition(events);
    const missing = events.filter((event) => event.row && !rows.has(storedKey(event)));
    // A position that the pipeline published has no duplicate: nothing to query.
    const duplicates = await stored.withDuplicate(
      missing.filter(({ verdictsKnown, verdict }) => !verdictsKnown || verdict === 'dead'),
    );
    const waits = await waiting.among(
      missing.filter((event) => event.verdict !== 'dead' && !duplicates.has(event)),
    );
    const added = new Set<string>();
    const fresh: SourceEvent[] = [];
    for (const event of events) {
      const row = rows.get(storedKey(event));
      const columns = row && event.row ? differingColumns(row, rowTexts(event.row)) : [];
      const verdict = decideReplay({
        stored: row !== undefined,
        differs: columns.length > 0,
        verdict: event.verdict,
        storedElsewhere: duplicates.has(event) || added.has(event.claim),
        expired:
          event.row !== undefined &&
          event.row.timestamp < keptFrom(retentions, event.accountId, now),
        waits: waits.has(event),
        processable: event.row !== undefined,
      });
      classified.counts[verdict]++;
      if (verdict === 'new') {
        added.add(event.claim);
        fresh.push(event);
      }
      if (verdict === 'would_change') classified.differences.push(differenceOf(event, columns));
    }
    if (fresh.length > 0) classified.fresh.set(partition, fresh);
  }
  return classified;
}

function isWanted({ accountId, row }: SourceEvent, { account, event }: EventFilter): boolean {
  return (
    (account === undefined || accountId === account) &&
    (event === undefined || row?.event === event)
  );
}

function differenceOf(
  { epoch, partition, at, accountId, messageId }: SourceEvent,
  columns: string[],
): Difference {
  return {
    place: `${epoch}/${partition}/${at.offset}/${at.index}`,
    account: accountId,
    message_id: messageId,
    columns,
  };
}
