import { TOPIC } from '../../schemas/topology.ts';
import { distinctIdOf } from '../../events/event-name.ts';
import { SeenKeys } from '../../pipeline/replay/seen-keys.ts';
import { compareEventOffsets } from '../../schemas/log-position.ts';
import { decideRebuild } from '../../pipeline/replay/decide.ts';
import { topicEnds } from '../../platform/kafka/admin.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import { fold, groupByPerson } from '../../projections/profiles/fold.ts';
import { profileKey, type Profile } from '../../projections/profiles/profile.ts';
import { postgresRefolds } from '../../projections/profiles/refold-requests.ts';
import type { Connections } from '../jobs/connections.ts';
import type { AffectedPerson } from './side-effects.ts';
import { handovers, type Handover } from './log-ranges.ts';
import { sourceBatches, type SourceBatch, type SourceEvent } from './source.ts';
import { storedKey, storedRows } from './stored-rows.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { delay } from '../../platform/backoff.ts';

export interface Refolded {
  /** Profiles handed to the owner of their partition, applied or not yet. */
  asked: number;
  /** Profiles that cannot be refolded: the log does not reach back to its beginning. */
  impossible: number;
}

/** Persons per scan of the log: bounds memory. */
const PERSONS_PER_SCAN = 20_000;
const BATCH = 5000;
const MAX_SEEN_KEYS = 200_000;

/**
 * Folds the profiles of a job again from events.raw, with every row stored now, and hands them to
 * the owners of their partitions (FOLD.md).
 */
export async function refoldPersons(
  connections: Connections,
  jobId: number,
  options: { signal: AbortSignal; progress: (records: number) => void },
): Promise<Refolded> {
  const { database, admin, settings } = connections;
  const { signal } = options;
  const result: Refolded = { asked: 0, impossible: 0 };
  for (;;) {
    const persons = await pendingPersons(database, jobId);
    if (persons.length === 0) return result;
    const [{ partition } = { partition: 0 }] = persons;
    const low =
      (await topicEnds(admin, TOPIC.raw)).find((one) => one.partition === partition)?.low ?? 0;
    const handover = (await handovers({ settings, admin, signal })).get(partition);
    if (low > 0 || !handover) result.impossible += persons.length;
    else {
      const states = await foldFromLog(connections, {
        persons: persons,
        partition,
        handover,
        ...options,
      });
      await postgresRefolds(database).add(
        [...states.values()].map((profile) => ({ partition, profile, fromOffset: handover.from })),
      );
      result.asked += states.size;
    }
    await database.query(
      'DELETE FROM replay_names WHERE job_id = $1 AND (account_id, name) IN (SELECT * FROM unnest($2::bigint[], $3::text[]))',
      [
        jobId,
        persons.map(({ accountId }) => accountId),
        persons.map(({ distinctId }) => escapeText(distinctId)),
      ],
    );
  }
}

async function pendingPersons(
  database: Connections['database'],
  jobId: number,
): Promise<AffectedPerson[]> {
  const { rows } = await database.query<{ account_id: string; name: string; partition: number }>(
    `SELECT account_id, name, partition FROM replay_names WHERE job_id = $1 AND partition = (SELECT min(partition) FROM replay_names WHERE job_id = $1) LIMIT ${PERSONS_PER_SCAN}`,
    [jobId],
  );
  return rows.map(({ account_id, name, partition }) => ({
    accountId: Number(account_id),
    distinctId: unescapeText(name),
    partition,
  }));
}

interface Scan {
  persons: readonly AffectedPerson[];
  partition: number;
  handover: Handover;
  signal: AbortSignal;
  progress: (records: number) => void;
}

async function foldFromLog(
  connections: Connections,
  { persons, partition, handover, signal, progress }: Scan,
): Promise<Map<string, Profile>> {
  const { settings, clickhouse: client } = connections;
  const wanted = new Set(
    persons.map(({ accountId, distinctId }) => profileKey(accountId, distinctId)),
  );
  const accounts = new Set(persons.map(({ accountId }) => accountId));
  const states = new Map<string, Profile>();
  const stored = storedRows({
    client,
    cluster: settings.CLICKHOUSE_CLUSTER,
    table: 'events',
    window: settings.DEDUPE_TTL,
  });
  const seen = new SeenKeys({ window: settings.DEDUPE_TTL, keys: MAX_SEEN_KEYS });
  const range = { partition, from: 0, to: handover.upTo.offset + 1, maxEvents: BATCH };
  for await (const batch of sourceBatches({ connections, topic: TOPIC.raw, ...range, signal })) {
    const own = ownEvents(batch, { wanted, accounts }).filter(
      ({ at }) => compareEventOffsets(at, handover.upTo) <= 0,
    );
    const revived = await stored.byPosition(own.filter(({ verdict }) => verdict === 'dead'));
    const counted = own.filter((event) => {
      const { verdict, verdictsKnown, claim, receivedAt, epoch, at } = event;
      const seenBefore = !verdictsKnown && seen.isDuplicate(claim, receivedAt);
      return (
        decideRebuild({
          verdict,
          seenBefore,
          addedByReplay: revived.has(storedKey({ epoch, at })),
          processable: true,
        }) === 'row'
      );
    });
    const gathered = groupByPerson(counted.flatMap(({ row }) => row ?? []));
    const before = gathered.people.map(({ key }) => states.get(key));
    for (const profile of fold(gathered, before).changed)
      states.set(profileKey(profile.accountId, profile.distinctId), profile);
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

/**
 * Waits until the owners have applied every requested profile, at most `ms` or until the signal
 * aborts; resolves with the number of profiles that still wait.
 */
export async function waitForRefolds(
  database: Database,
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<number> {
  for (const deadline = performance.now() + ms; ;) {
    const { rows } = await database.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM profile_refolds WHERE applied_at IS NULL',
    );
    const waiting = rows[0]?.n ?? 0;
    if (waiting === 0 || performance.now() > deadline || signal.aborted) return waiting;
    await delay(500, signal).catch(() => undefined);
  }
}

/** Records the persons to fold again. An `also` statement of OwnedJob.update. */
export function insertAffectedPersons(
  jobId: number,
  persons: readonly AffectedPerson[],
): { sql: string; values: unknown[] } {
  return {
    sql: `INSERT INTO replay_names (job_id, account_id, name, partition)
      SELECT $6::bigint, wanted.* FROM owner, unnest($7::bigint[], $8::text[], $9::int[]) AS wanted (account_id, name, partition) ON CONFLICT DO NOTHING`,
    values: [
      jobId,
      persons.map(({ accountId }) => accountId),
      persons.map(({ distinctId }) => escapeText(distinctId)),
      persons.map(({ partition }) => partition),
    ],
  };
}
