import type { Admin } from 'kafkajs';
import { committedOffsets, topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import type { Names } from './config.ts';

const SHORTEST_BACKLOG = 60_000;
/** A backlog older than four years is read from the beginning. */
const LONGEST_BACKLOG = SHORTEST_BACKLOG * 2 ** 21;

/** What the refill asks Kafka. Every call may reject: try again. */
export interface LogEnds {
  /** Ends of events.normalised now, by partition: everything published before lies below them. */
  normalised(): Promise<ReadonlyMap<number, number>>;
  /** Records below `ends` that the sink has not stored yet, over all partitions. */
  unstored(ends: ReadonlyMap<number, number>): Promise<number>;
  /**
   * A bound for the age of the oldest record of events.raw that is not normalised yet, ms: at most
   * twice as much, a minute at least.
   */
  backlogAge(now: number): Promise<number>;
}

export function logEnds(settings: KafkaSettings, names: Names): LogEnds {
  const ask = <T>(work: (admin: Admin) => Promise<T>) => withKafkaAdmin(settings, work);
  return {
    normalised: () =>
      ask(
        async (admin) =>
          new Map(
            (await topicEnds(admin, names.normalised)).map(({ partition, high }) => [
              partition,
              high,
            ]),
          ),
      ),
    unstored: (ends) =>
      ask(async (admin) => {
        const [committed, present] = [
          await committedOffsets(admin, names.sinkGroup, names.normalised),
          await topicEnds(admin, names.normalised),
        ];
        const lows = new Map(present.map(({ partition, low }) => [partition, low]));
        let missing = 0;
        for (const [partition, end] of ends)
          missing += Math.max(
            0,
            end - Math.max(committed.get(partition) ?? 0, lows.get(partition) ?? 0),
          );
        return missing;
      }),
    backlogAge: (now) =>
      ask(async (admin) => {
        const committed = await committedOffsets(admin, names.group, names.raw);
        const ends = await topicEnds(admin, names.raw);
        const next = new Map(
          ends.map(({ partition, low }) => [
            partition,
            Math.max(committed.get(partition) ?? 0, low),
          ]),
        );
        if (ends.every(({ partition, high }) => high <= (next.get(partition) ?? 0))) return 0;
        for (let age = SHORTEST_BACKLOG; age < LONGEST_BACKLOG; age *= 2) {
          const offsets = await admin.fetchTopicOffsetsByTimestamp(names.raw, now - age);
          if (
            offsets.every(({ partition, offset }) => Number(offset) <= (next.get(partition) ?? 0))
          )
            return age;
        }
        return now;
      }),
  };
}
