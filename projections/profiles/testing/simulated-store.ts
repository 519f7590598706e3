import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import { eventRowCodec, rowBatchCodec } from '../../../schemas/codec.ts';
import type { EventRow } from '../../../schemas/records.ts';
import type { ProfileMetrics } from '../metrics.ts';
import { unpackProfile } from '../profile-row.ts';
import { profileKey, type Profile, type ProfileEvent } from '../profile.ts';
import { ProfilesTooLarge, type ProfileStore } from '../store.ts';
import { described } from './described.ts';
import type { SpecifiedProfile } from './reference-fold.ts';

/**
 * What happens to a save: it is stored; or the worker is killed, and the insert is stored later, in
 * part, or never.
 */
export type Fate = 'stored' | 'late' | 'part' | 'lost';

/** ReplacingMergeTree as a map: of two states of a distinct id the one with more events stays. */
export class SimulatedProfiles {
  readonly states = new Map<string, Profile>();
  /** Inserts of killed workers that are still in flight. */
  readonly inFlight: Profile[][] = [];

  insert(profiles: readonly Profile[]): void {
    for (const profile of profiles) {
      const key = profileKey(profile.accountId, profile.distinctId);
      if (profile.eventCount > (this.states.get(key)?.eventCount ?? 0))
        this.states.set(key, profile);
    }
  }

  /** Delivers the oldest inserts in flight; all of them by default. */
  deliver(count = this.inFlight.length): void {
    for (const profiles of this.inFlight.splice(0, count)) this.insert(profiles);
  }

  /** The store of one worker: `kill` is called when a save does not succeed. */
  storeOf({
    fateOf,
    kill,
    maxLoad = Infinity,
  }: {
    fateOf: () => Fate;
    kill: () => void;
    /** More profiles at once are too large. */
    maxLoad?: number;
  }): ProfileStore {
    return {
      load: (ids) =>
        ids.length > Math.max(1, maxLoad)
          ? Promise.reject(new ProfilesTooLarge('too large'))
          : Promise.resolve(new Map(this.states)),
      save: (saved) => {
        const profiles = saved.map((one) => (typeof one === 'string' ? unpackProfile(one) : one));
        const fate = fateOf();
        if (fate === 'stored') {
          this.insert(profiles);
          return Promise.resolve();
        }
        if (fate === 'late') this.inFlight.push([...profiles]);
        if (fate === 'part') this.insert(profiles.slice(0, Math.ceil(profiles.length / 2)));
        kill();
        return Promise.reject(new Error('killed'));
      },
    };
  }

  /** The stored profiles, for comparison with the specification. */
  described(): Map<string, SpecifiedProfile> {
    return describeAll(this.states.values());
  }
}

/** Profiles by `account/distinct id`, as specifiedProfiles returns them. */
export function describeAll(profiles: Iterable<Profile>): Map<string, SpecifiedProfile> {
  return new Map(
    [...profiles].map((profile) => [
      `${profile.accountId}/${profile.distinctId}`,
      described(profile),
    ]),
  );
}

export const NO_METRICS: ProfileMetrics = {
  folded: () => undefined,
  unreadable: () => undefined,
  misplaced: () => undefined,
};

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;

/** Partition 0 of events.normalised: one row batch per raw record. */
export function messagesOf(events: readonly ProfileEvent[]): ConsumedMessage[] {
  return [...Map.groupBy(events, ({ _offset }) => _offset)].map(([rawOffset, own], offset) => {
    const head = {
      epoch: own[0]?._epoch ?? 0,
      partition: own[0]?._partition ?? 0,
      first_offset: rawOffset,
      first_index: own[0]?._index ?? 0,
      last_offset: rawOffset,
      last_index: own.at(-1)?._index ?? 0,
      appended_at: 0,
    };
    const rows = own.map((event) => ({ ...EMPTY, ...event }));
    const value = rowBatchCodec.encode({ ...head, rows });
    return { topic: 't', partition: 0, offset, timestamp: 0, key: null, value, size: value.length };
  });
}
