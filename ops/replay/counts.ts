import { REPLAY_VERDICTS, type ReplayVerdict } from '../../pipeline/replay/decide.ts';

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

export function noCounts(): ReplayCounts {
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
