import type { Admin } from 'kafkajs';
import {
  committedOffsets,
  offsetsAt,
  topicEnds,
  withKafkaAdmin,
} from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import type { Names } from './config.ts';

const MIN_BACKLOG = 60_000;
/** About four years; an older backlog counts as unbounded. */
const MAX_BACKLOG = MIN_BACKLOG * 2 ** 21;

/** The offsets that the backfill of claims needs. Every call may reject: retry it. */
export interface LogEnds {
  /**
   * First retained offsets and ends of events.normalised, by partition; everything published is
   * below the ends.
   */
  normalised(): Promise<ReadonlyMap<number, { low: number; high: number }>>;
  /** Committed offsets of the normaliser by partition of events.raw, not above its ends. */
  committed(): Promise<ReadonlyMap<number, number>>;
  /** Records below `ends` that the sink has not stored yet, in all partitions. */
  unstored(ends: ReadonlyMap<number, { high: number }>): Promise<number>;
  /**
   * Upper bound for the age of the oldest record of events.raw that is not normalised yet, ms: at
   * most twice its age, and at least a minute.
   */
  backlogAge(now: number): Promise<number>;
}

export function logEnds(settings: KafkaSettings, names: Names): LogEnds {
  const withAdmin = <T>(work: (admin: Admin) => Promise<T>) => withKafkaAdmin(settings, work);
  return {
    normalised: () =>
      withAdmin(
        async (admin) =>
          new Map(
            (await topicEnds(admin, names.normalised)).map(({ partition, low, high }) => [
              partition,
              { low, high },
            ]),
          ),
      ),
    committed: () =>
      withAdmin(async (admin) => {
        const committed = await committedOffsets(admin, names.group, names.raw);
        const ends = await topicEnds(admin, names.raw);
        return new Map(
          ends.map(({ partition, high }) => [
            partition,
            Math.min(committed.get(partition) ?? 0, high),
          ]),
        );
      }),
    unstored: (ends) =>
      withAdmin(async (admin) => {
        const [committed, present] = [
          await committedOffsets(admin, names.sinkGroup, names.normalised),
          await topicEnds(admin, names.normalised),
        ];
        const lows = new Map(present.map(({ partition, low }) => [partition, low]));
        let missing = 0;
        for (const [partition, { high }] of ends)
          missing += Math.max(
            0,
            high - Math.max(committed.get(partition) ?? 0, lows.get(partition) ?? 0),
          );
        return missing;
      }),
    backlogAge: (now) =>
      withAdmin(async (admin) => {
        const committed = await committedOffsets(admin, names.group, names.raw);
        const ends = await topicEnds(admin, names.raw);
        const next = new Map(
          ends.map(({ partition, low }) => [
            partition,
            Math.max(committed.get(partition) ?? 0, low),
          ]),
        );
        if (ends.every(({ partition, high }) => high <= (next.get(partition) ?? 0))) return 0;
        for (let age = MIN_BACKLOG; age < MAX_BACKLOG; age *= 2) {
          const offsets = await offsetsAt(admin, names.raw, now - age);
          if ([...offsets].every(([at, offset]) => (offset ?? -1) <= (next.get(at) ?? 0)))
            return age;
        }
        return now;
      }),
  };
}
