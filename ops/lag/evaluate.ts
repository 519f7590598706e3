/** Offsets of one group on one partition at one moment. */
export interface GroupOffset {
  group: string;
  topic: string;
  partition: number;
  /** First retained offset, and the high watermark. */
  low: number;
  end: number;
  /** The next offset to read; undefined: the group has never committed. */
  position: number | undefined;
}

export interface OffsetSnapshot {
  /** ms since the epoch */
  at: number;
  offsets: readonly GroupOffset[];
}

/** Lag of a group on one partition, or on all of a topic (`partition` undefined). */
export interface Lag {
  group: string;
  topic: string;
  partition: number | undefined;
  end: number;
  position: number | undefined;
  records: number;
  /**
   * Age of the oldest unread record, ms; 0 when nothing is unread, undefined when unknown.
   */
  age: number | undefined;
  /** Records that retention deleted before the group read them. */
  missed: number;
  /** Records per second between the two snapshots: read by the group, appended to the topic. */
  readRate: number;
  appendRate: number;
  /** Seconds until the lag is zero at these rates; undefined: never. */
  catchUpSeconds: number | undefined;
  /** Age of the oldest unread record over the retention; undefined: unlimited or unknown. */
  retentionUsed: number | undefined;
  warning: string | undefined;
}

interface LagInput {
  before: OffsetSnapshot;
  now: OffsetSnapshot;
  /** When the record at a position was appended, ms since the epoch, by `positionKey`. */
  appended: ReadonlyMap<string, number>;
  /** Retention of a topic, ms; absent or 0: unlimited. */
  retention: ReadonlyMap<string, number>;
}

/** Above this fraction of the retention, unread records may soon be deleted. */
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

/** The offset that the group reads next; undefined when nothing is unread. */
export function oldestUnread({ position, low, end }: GroupOffset): number | undefined {
  const next = Math.max(position ?? low, low);
  return next < end ? next : undefined;
}

/** Lag of every partition, from two snapshots. */
export function partitionLags({ before, now, appended, retention }: LagInput): Lag[] {
  const seconds = Math.max(0.001, (now.at - before.at) / 1000);
  const earlier = new Map(before.offsets.map((one) => [offsetKey(one), one]));
  return now.offsets.map((current) => {
    const { group, topic, partition, low, end, position } = current;
    const next = oldestUnread(current);
    const records = next === undefined ? 0 : end - next;
    const at =
      next === undefined
        ? undefined
        : appended.get(positionKey({ topic, partition, offset: next }));
    const age = next === undefined ? 0 : at === undefined ? undefined : Math.max(0, now.at - at);
    const previous = earlier.get(offsetKey(current));
    const readRate =
      previous === undefined
        ? 0
        : Math.max(0, (position ?? low) - (previous.position ?? previous.low)) / seconds;
    const appendRate = previous === undefined ? 0 : Math.max(0, end - previous.end) / seconds;
    const kept = retention.get(topic) ?? 0;
    const lag = {
      ...{ group, topic, partition, end, position, records, age, readRate, appendRate },
      missed: position === undefined ? 0 : Math.max(0, low - position),
      catchUpSeconds: secondsToCatchUp({ records, readRate, appendRate }),
      retentionUsed: kept > 0 && age !== undefined ? age / kept : undefined,
    };
    return { ...lag, warning: warningOf(lag) };
  });
}

/** Seconds until the lag is zero if both rates stay as they are; undefined: never. */
export function secondsToCatchUp({
  records,
  readRate,
  appendRate,
}: {
  records: number;
  readRate: number;
  appendRate: number;
}): number | undefined {
  if (records === 0) return 0;
  return readRate > appendRate ? records / (readRate - appendRate) : undefined;
}

/**
 * Lag per group and topic: records and rates are summed; age, catch-up time and used retention are
 * those of the worst partition.
 */
export function groupLags(partitions: readonly Lag[]): Lag[] {
  return [...Map.groupBy(partitions, ({ group, topic }) => `${topic}\n${group}`).values()].flatMap(
    (lags) => {
      const [first] = lags;
      if (!first) return [];
      const sum = (of: (lag: Lag) => number) => lags.reduce((total, lag) => total + of(lag), 0);
      const [records, readRate, appendRate] = [
        sum((lag) => lag.records),
        sum((lag) => lag.readRate),
        sum((lag) => lag.appendRate),
      ];
      return [
        {
          ...{
            group: first.group,
            topic: first.topic,
            partition: undefined,
            end: sum((lag) => lag.end),
            records,
            readRate,
            appendRate,
          },
          position: lags.every((lag) => lag.position === undefined)
            ? undefined
            : sum((lag) => lag.position ?? 0),
          age: maxIfAllKnown(lags.map((lag) => lag.age)),
          missed: sum((lag) => lag.missed),
          catchUpSeconds: maxIfAllKnown(lags.map((lag) => lag.catchUpSeconds)),
          retentionUsed: maxOfKnown(lags.map((lag) => lag.retentionUsed)),
          warning: lags.find((lag) => lag.warning !== undefined)?.warning,
        },
      ];
    },
  );
}

/** The maximum; undefined when any value is unknown. */
function maxIfAllKnown(values: readonly (number | undefined)[]): number | undefined {
  let found = 0;
  for (const value of values) {
    if (value === undefined) return undefined;
    found = Math.max(found, value);
  }
  return found;
}

/** The maximum of the known values. */
function maxOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function warningOf(
  lag: Pick<Lag, 'group' | 'topic' | 'partition' | 'missed' | 'retentionUsed'>,
): string | undefined {
  const where = `${lag.group} on ${lag.topic} ${lag.partition ?? ''}`.trimEnd();
  if (lag.missed > 0)
    return `${where}: ${lag.missed} records left the log before they were read; ./ravand replay --topic events.raw restores the events, ./ravand rebuild a projection`;
  if (lag.retentionUsed !== undefined && lag.retentionUsed >= RETENTION_WARNING)
    return `${where}: the oldest unread record has used ${Math.round(lag.retentionUsed * 100)}% of the topic's retention; raise retention.ms or speed the group up before it is deleted`;
  return undefined;
}

function offsetKey({ group, topic, partition }: GroupOffset): string {
  return `${group}\n${topic}\n${partition}`;
}
