import { recordAudit } from '../../../platform/audit.ts';
import { CLAIM_KEYS, claimLayout, DEFAULT_PREFIX } from '../../../platform/claims/claim-keys.ts';
import { removeKeys } from '../../../platform/claims/remove-claims.ts';
import { commitOffsets } from '../../../platform/kafka/commit-offsets.ts';
import { WENT_BACK } from '../../../platform/log/epochs.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { openRedis, type RedisSettings } from '../../../platform/redis/open-redis.ts';
import type { Connections } from '../../jobs/connections.ts';
import type { AdvancePlan } from './plan.ts';

/** A plan that was begun; it is carried out to its end, by whichever process. */
export interface BegunAdvance {
  id: number;
  plan: AdvancePlan;
}

/** The plan of a command that was killed. */
export async function unfinishedAdvance(database: Database): Promise<BegunAdvance | undefined> {
  const { rows } = await database.query<{ id: string; plan: AdvancePlan }>(
    "SELECT id, plan FROM log_advances WHERE state = 'running'",
  );
  const [row] = rows;
  return row && { id: Number(row.id), plan: row.plan };
}

/** Stores the plan: from here on it is completed, and no reader goes on before. */
export async function beginAdvance(database: Database, plan: AdvancePlan): Promise<BegunAdvance> {
  await recordAudit(database, {
    ...{ accountId: null, actor: 'operator', action: 'log.epoch_advanced' },
    details: {
      epochs: plan.epochs.map(({ topic, partition, epoch, firstOffset, end, reason }) => ({
        ...{ topic, partition, epoch, first_offset: firstOffset, end, reason },
      })),
    },
  });
  const { rows } = await database.query<{ id: string }>(
    'INSERT INTO log_advances (plan) VALUES ($1) RETURNING id',
    [JSON.stringify(plan)],
  );
  return { id: Number(rows[0]?.id), plan };
}

/** Carries the plan out. Every step may be repeated; the last one ends it in one statement. */
export async function applyAdvance(
  { database, settings }: Connections,
  { id, plan }: BegunAdvance,
): Promise<void> {
  const byGroup = Map.groupBy(plan.moves, ({ group, topic }) => `${group}\n${topic}`);
  for (const moves of byGroup.values()) {
    const [first] = moves;
    if (!first) continue;
    const { group, topic } = first;
    const offsets = new Map(moves.map(({ partition, to }) => [partition, to]));
    await commitOffsets(settings, { group, topic, offsets });
  }
  await removeClaims(settings, plan);
  await finish(database, { id, plan });
}

const REDIS_MS = 10_000;

/**
 * The marker goes first: from then on every normaliser knows that the claims are incomplete, and
 * loads those of the stored events (pipeline/normalise/BACKFILL.md).
 */
export async function removeClaims(
  settings: RedisSettings,
  { removesClaims }: Pick<AdvancePlan, 'removesClaims'>,
): Promise<void> {
  const redis = openRedis(settings, { commandTimeout: REDIS_MS, maxRetriesPerRequest: 3 });
  redis.on('error', () => undefined);
  try {
    const { prefixes } = claimLayout({ redis });
    const unlink = (name: string) =>
      Promise.all([DEFAULT_PREFIX, ...prefixes].map((prefix) => redis.unlink(prefix + name)));
    // Ends of events.normalised, from which lost claims would be read in the log.
    await unlink('ends');
    if (!removesClaims) return;
    await unlink('marker');
    await removeKeys(redis, CLAIM_KEYS);
  } finally {
    redis.disconnect();
  }
}

const FINISH = `WITH begun AS (
    SELECT * FROM unnest($2::text[], $3::int[], $4::int[], $5::bigint[], $6::text[]) AS b (topic, partition, epoch, first_offset, reason)
  ), epochs AS (
    INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason) SELECT * FROM begun ON CONFLICT DO NOTHING
  ), evidence AS (
    DELETE FROM log_evidence AS e USING begun AS b WHERE e.topic = b.topic AND e.partition = b.partition AND e.next_offset > b.first_offset
  ), positions AS (
    UPDATE log_positions AS p SET next_offset = b.first_offset, updated_at = now() FROM begun AS b
    WHERE p.topic = b.topic AND p.partition = b.partition AND p.next_offset > b.first_offset
  ), refolds AS (
    UPDATE profile_refolds AS r SET from_offset = b.first_offset FROM begun AS b
    WHERE b.topic = 'events.normalised' AND r.partition = b.partition AND r.from_offset > b.first_offset
  )
  UPDATE log_advances SET state = 'finished', finished_at = clock_timestamp() WHERE id = $1`;

async function finish(database: Database, { id, plan }: BegunAdvance): Promise<void> {
  const of = plan.epochs;
  await database.query(FINISH, [
    id,
    of.map(({ topic }) => topic),
    of.map(({ partition }) => partition),
    of.map(({ epoch }) => epoch),
    of.map(({ firstOffset }) => firstOffset),
    of.map(({ reason }) => (reason === 'went_back' ? WENT_BACK : 'follows another')),
  ]);
}
