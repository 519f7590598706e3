import { isErasedRow } from '../../events/erasure/row-batch.ts';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { readErasures } from '../../platform/log/erasures.ts';
import { fold, groupByPerson } from '../../projections/profiles/fold.ts';
import { profileKey, type Profile } from '../../projections/profiles/profile.ts';
import { readEvents } from '../../projections/profiles/read-events.ts';
import { clickhouseProfiles } from '../../projections/profiles/store.ts';
import { distinctIdOf } from '../../events/event-name.ts';
import { PROJECTIONS } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import { liveService } from '../rebuild/swap.ts';
import type { ClickhouseRows, PersonRows } from './clickhouse-rows.ts';
import type { Ends } from './erasure-row.ts';
import { removeRefolds } from './postgres-rows.ts';

interface ErasedProfiles {
  person: PersonRows;
  rows: ClickhouseRows;
  /** Ends of events.normalised before the cut. */
  since: Ends;
  homeDir: string;
  signal: AbortSignal;
}

/**
 * Replaces the profiles of the person by the fold of what came after the cut. The service that
 * folds is stopped meanwhile: it keeps profiles in memory. Exact whenever it is repeated.
 */
export async function eraseProfiles(
  connections: Connections,
  { person, rows, since, homeDir, signal }: ErasedProfiles,
): Promise<number> {
  const { admin, clickhouse: client, database, settings } = connections;
  const { service, group, table, topic } = PROJECTIONS.profiles;
  const sink = liveService({ admin, settings, service, group, homeDir });
  try {
    await sink.stop();
    await removeRefolds(database, person);
    const where = await rows.namesWhere('profiles', person);
    let removed = 0;
    for (const one of await rows.tables('profiles')) removed += await rows.delete(one, where);
    const committed = await committedOffsets(admin, group, topic);
    const profiles = await foldAfter(connections, { person, since, committed, signal });
    const store = clickhouseProfiles({ client, cluster: settings.CLICKHOUSE_CLUSTER, table });
    if (profiles.length > 0) await store.save(profiles, signal);
    return removed;
  } finally {
    await sink.start();
  }
}

/** The profiles of the names from events after the cut that the service has folded. */
async function foldAfter(
  { settings, admin, database }: Connections,
  of: {
    person: PersonRows;
    since: Ends;
    committed: ReadonlyMap<number, number | undefined>;
    signal: AbortSignal;
  },
): Promise<Profile[]> {
  const { person, since, committed, signal } = of;
  const erased = await readErasures(database, 'recorded');
  const names = new Set(person.names);
  const profiles = new Map<string, Profile>();
  const { topic } = PROJECTIONS.profiles;
  for (const { partition, low } of await topicEnds(admin, topic)) {
    const from = Math.max(low, since[partition] ?? 0);
    const range = { topic, partition, from, to: committed.get(partition) ?? 0 };
    const reading = { settings, clientId: 'ravand-erase', range, signal };
    for await (const messages of readRange(reading)) {
      const events = messages
        .flatMap((message) => readEvents(message))
        .filter(
          (event) =>
            event.account_id === person.accountId &&
            names.has(distinctIdOf(event)) &&
            !isErasedRow(event, erased),
        );
      const grouped = groupByPerson(events);
      const before = grouped.people.map(({ key }) => profiles.get(key));
      for (const profile of fold(grouped, before).changed)
        profiles.set(profileKey(profile.accountId, profile.distinctId), profile);
    }
  }
  return [...profiles.values()];
}
