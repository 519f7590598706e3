/** One partition as one group stood before it at one moment. */
export interface GroupOffset {
  group: string;
  topic: string;
  partition: number;
  /** First offset that is kept, and the offset that the next record will get. */
  low: number;
  end: number;
  /** The next offset to read; undefined: the group never committed here. */
  position: number | undefined;
}

export interface Look {
  /** ms since the epoch */
  at: number;
  standings: readonly GroupOffset[];
}

/**
 * How far a group is behind on one partition, or on all partitions of a topic together (`partition`
 * undefined).
 */
export interface Lag {
  group: string;
  topic: string;
  partition: number | undefined;
  end: number;
  position: number | undefined;
  records: number;
  /**
   * Age of the oldest unread record, ms; 0 when nothing is unread, undefined when it could not be
   * read.
   */
  age: number | undefined;
  /** Records that left the log before the group read them: they are gone for it. */
  missed: number;
  /** Records a second between the two looks: taken by the group, and appended to the log. */
  rate: number;
  arriving: number;
  /** Seconds until nothing is unread at this pace; undefined: never at this pace. */
  catchUp: number | undefined;
  /**
   * Age of the oldest unread record as a share of what the topic keeps; undefined: kept for ever,
   * or unknown.
   */
  retentionUsed: number | undefined;
  warning: string | undefined;
}

interface Measuring {
  before: Look;
  now: Look;
  /** When the record at a position was appended, ms since the epoch, by `positionKey`. */
  appended: ReadonlyMap<string, number>;
  /** What a topic keeps, ms; absent or 0: for ever. */
  retention: ReadonlyMap<string, number>;
}

/** From this share of the retention on, unread records are in danger. */
export const RETENTION_WARNING = 0.5;

export function positionKey({
  topic,
  partition,
  offset,
}: {
  topic: string;
  partition: number;
  offset: number;
}): string {
  return `${topic}/${partition}/${offset}`;
}

/** What a group reads next on a partition; undefined when nothing is unread. */
export function oldestUnread(standing: GroupOffset): number | undefined {
  const next = Math.max(standing.position ?? standing.low, standing.low);
  return next < standing.end ? next : undefined;
}

/** Lag of every partition, from two looks at the log. */
export function partitionLags({ before, now, appended, retention }: Measuring): Lag[] {
  const seconds = Math.max(0.001, (now.at - before.at) / 1000);
  const earlier = new Map(before.standings.map((standing) => [standingKey(standing), standing]));
  return now.standings.map((standing) => {
    const { group, topic, partition, low, end, position } = standing;
    const next = oldestUnread(standing);
    const records = next === undefined ? 0 : end - next;
    const at =
      next === undefined
        ? undefined
        : appended.get(positionKey({ topic, partition, offset: next }));
    const age = next === undefined ? 0 : at === undefined ? undefined : Math.max(0, now.at - at);
    const then = earlier.get(standingKey(standing));
    const rate =
      then === undefined
        ? 0
        : Math.max(0, (position ?? low) - (then.position ?? then.low)) / seconds;
    const arriving = then === undefined ? 0 : Math.max(0, end - then.end) / seconds;
    const kept = retention.get(topic) ?? 0;
    const lag = {
      ...{ group, topic, partition, end, position, records, age, rate, arriving },
      missed: position === undefined ? 0 : Math.max(0, low - position),
      catchUp: timeToCatchUp({ records, rate, arriving }),
      retentionUsed: kept > 0 && age !== undefined ? age / kept : undefined,
    };
    return { ...lag, warning: warningOf(lag) };
  });
}

/** Seconds until nothing is unread when both paces stay; undefined: never. */
export function timeToCatchUp({
  records,
  rate,
  arriving,
}: {
  records: number;
  rate: number;
  arriving: number;
}): number | undefined {
  if (records === 0) return 0;
  return rate > arriving ? records / (rate - arriving) : undefined;
}

/**
 * The partitions of a group on a topic taken together: records and rates add, the worst age and
 * share count, and the last partition to be done tells when all are.
 */
export function groupLags(partitions: readonly Lag[]): Lag[] {
  return [...Map.groupBy(partitions, ({ group, topic }) => `${topic}\n${group}`).values()].flatMap(
    (lags) => {
      const [first] = lags;
      if (!first) return [];
      const sum = (of: (lag: Lag) => number) => lags.reduce((total, lag) => total + of(lag), 0);
      const [records, rate, arriving] = [
        sum((lag) => lag.records),
        sum((lag) => lag.rate),
        sum((lag) => lag.arriving),
      ];
      return [
        {
          ...{
            group: first.group,
            topic: first.topic,
            partition: undefined,
            end: sum((lag) => lag.end),
            records,
            rate,
            arriving,
          },
          position: lags.every((lag) => lag.position === undefined)
            ? undefined
            : sum((lag) => lag.position ?? 0),
          age: worst(lags.map((lag) => lag.age)),
          missed: sum((lag) => lag.missed),
          catchUp: worst(lags.map((lag) => lag.catchUp)),
          retentionUsed: most(lags.map((lag) => lag.retentionUsed)),
          warning: lags.find((lag) => lag.warning !== undefined)?.warning,
        },
      ];
    },
  );
}

/** The largest; undefined when one is not known. */
function worst(values: readonly (number | undefined)[]): number | undefined {
  let found = 0;
  for (const value of values) {
    if (value === undefined) return undefined;
    found = Math.max(found, value);
  }
  return found;
}

/** The largest of those that are known. */
function most(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function warningOf(
  lag: Pick<Lag, 'group' | 'topic' | 'partition' | 'missed' | 'retentionUsed'>,
): string | undefined {
  const where = `${lag.group} on ${lag.topic} ${lag.partition ?? ''}`.trimEnd();
  if (lag.missed > 0)
    return `${where}: ${lag.missed} records left the log before they were read; ./ravand replay --topic events.raw brings the events back, ./ravand rebuild a projection`;
  if (lag.retentionUsed !== undefined && lag.retentionUsed >= RETENTION_WARNING)
    return `${where}: the oldest unread record has used ${Math.round(lag.retentionUsed * 100)}% of the topic's retention; raise retention.ms or make the group faster before it is gone`;
  return undefined;
}

function standingKey({ group, topic, partition }: GroupOffset): string {
  return `${group}\n${topic}\n${partition}`;
}
