import { distinctIdOf } from '../../events/event-name.ts';
import { SeenKeys } from '../../pipeline/replay/seen-keys.ts';
import { compareEventOffsets, eventOffsetKey } from '../../schemas/log-position.ts';
import { decideRebuild } from '../../pipeline/replay/decide.ts';
import { topicEnds } from '../../platform/kafka/admin.ts';
import { unescapeText, escapeText } from '../../platform/postgres/escaped-text.ts';
import { fold, gather } from '../../projections/profiles/fold.ts';
import { profileKey, type Profile } from '../../projections/profiles/profile.ts';
import { postgresRefolds } from '../../projections/profiles/refold-requests.ts';
import type { Connections } from './connections.ts';
import type { ConcernedName } from './follow-ups.ts';
import { handovers, type Handover } from './log-bounds.ts';
import { sourceBatches, type SourceBatch, type SourceEvent } from './source.ts';
import { storedRows } from './stored-rows.ts';
import { TOPIC } from '../../schemas/topology.ts';

export interface Refolded {
  /** Names whose fold now waits for, or was taken over by, the owner of their partition. */
  asked: number;
  /** Names that cannot be folded anew because the log does not reach back to its beginning. */
  impossible: number;
}

/** Names of one scan of the log: bounds what is in memory. */
const NAMES_A_SCAN = 20_000;
const BATCH = 5000;
const REMEMBERED_KEYS = 200_000;

/**
 * Folds the names of a job anew from events.raw, with every row that is stored now, and hands them
 * to the owners of their partitions (FOLD.md).
 */
export async function refoldNames(
  connections: Connections,
  jobId: number,
  options: { signal: AbortSignal; progress: (records: number) => void },
): Promise<Refolded> {
  const { database, admin, settings } = connections;
  const { signal } = options;
  const result: Refolded = { asked: 0, impossible: 0 };
  for (;;) {
    const names = await waitingNames(database, jobId);
    if (names.length === 0) return result;
    const [{ partition } = { partition: 0 }] = names;
    const low =
      (await topicEnds(admin, TOPIC.raw)).find((one) => one.partition === partition)?.low ?? 0;
    const handover = (await handovers({ settings, admin, signal })).get(partition);
    if (low > 0 || !handover) result.impossible += names.length;
    else {
      const states = await foldFromLog(connections, { names, partition, handover, ...options });
      await postgresRefolds(database).ask(
        [...states.values()].map((profile) => ({ partition, profile, fromOffset: handover.from })),
      );
      result.asked += states.size;
    }
    await database.query(
      'DELETE FROM replay_names WHERE job_id = $1 AND (account_id, name) IN (SELECT * FROM unnest($2::bigint[], $3::text[]))',
      [jobId, names.map(({ accountId }) => accountId), names.map(({ name }) => escapeText(name))],
    );
  }
}

async function waitingNames(
  database: Connections['database'],
  jobId: number,
): Promise<ConcernedName[]> {
  const { rows } = await database.query<{ account_id: string; name: string; partition: number }>(
    `SELECT account_id, name, partition FROM replay_names WHERE job_id = $1 AND partition = (SELECT min(partition) FROM replay_names WHERE job_id = $1) LIMIT ${NAMES_A_SCAN}`,
    [jobId],
  );
  return rows.map(({ account_id, name, partition }) => ({
    accountId: Number(account_id),
    name: unescapeText(name),
    partition,
  }));
}

interface Scan {
  names: readonly ConcernedName[];
  partition: number;
  handover: Handover;
  signal: AbortSignal;
  progress: (records: number) => void;
}

async function foldFromLog(
  connections: Connections,
  { names, partition, handover, signal, progress }: Scan,
): Promise<Map<string, Profile>> {
  const { settings, clickhouse: client } = connections;
  const wanted = new Set(names.map(({ accountId, name }) => profileKey(accountId, name)));
  const accounts = new Set(names.map(({ accountId }) => accountId));
  const states = new Map<string, Profile>();
  const stored = storedRows({
    client,
    cluster: settings.CLICKHOUSE_CLUSTER,
    table: 'events',
    window: settings.DEDUPE_TTL,
  });
  const seen = new SeenKeys({ window: settings.DEDUPE_TTL, keys: REMEMBERED_KEYS });
  const range = { partition, from: 0, to: handover.upTo.offset + 1, most: BATCH };
  for await (const batch of sourceBatches({ connections, topic: TOPIC.raw, ...range, signal })) {
    const own = ownEvents(batch, { wanted, accounts }).filter(
      ({ at }) => compareEventOffsets(at, handover.upTo) <= 0,
    );
    const revived = await stored.at(own.filter(({ said }) => said === 'dead'));
    const counted = own.filter((event) => {
      const { said, covered, claim, receivedAt, at } = event;
      const seenBefore = !covered && seen.isDuplicate(claim, receivedAt);
      return (
        decideRebuild({
          verdict: said,
          seenBefore,
          addedByReplay: revived.has(eventOffsetKey(at)),
          processable: true,
        }) === 'row'
      );
    });
    const gathered = gather(counted.flatMap(({ row }) => row ?? []));
    const before = gathered.names.map(({ key }) => states.get(key));
    for (const profile of fold(gathered, before).changed)
      states.set(profileKey(profile.accountId, profile.name), profile);
    progress(batch.last - batch.first + 1);
  }
  return states;
}

function ownEvents(
  { events }: SourceBatch,
  { wanted, accounts }: { wanted: ReadonlySet<string>; accounts: ReadonlySet<number> },
): SourceEvent[] {
  return events.filter(
    ({ accountId, row }) =>
      row && accounts.has(accountId) && wanted.has(profileKey(accountId, distinctIdOf(row))),
  );
}
