import type { Database } from '../../platform/postgres/pool.ts';
import type { Profile } from './profile.ts';
import { readProfile, writeProfile } from './profile-row.ts';
import { RowBinaryReader, RowBinaryWriter } from './row-binary.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';

/**
 * A name whose profile lacks events that were added to the log's projections later: its fold from
 * the log, with them, up to `profile.last`.
 */
export interface RefoldRequest {
  id: number;
  profile: Profile;
  /**
   * Every event of the name behind `profile.last` lies at or behind this offset of
   * events.normalised.
   */
  fromOffset: number;
  /** It was written before, by this owner or a former one. */
  applied: boolean;
}

/**
 * Where requests wait for the owner of a partition. Every method rejects when PostgreSQL does not
 * answer; repeating is harmless.
 */
export interface RefoldRequests {
  /**
   * Requests that were not written yet, and those that were written long enough ago to be looked at
   * again.
   */
  due(partition: number): Promise<RefoldRequest[]>;
  applied(ids: readonly number[]): Promise<void>;
  /** Nothing can undo them any more. */
  done(ids: readonly number[]): Promise<void>;
  ask(
    requests: readonly { partition: number; profile: Profile; fromOffset: number }[],
  ): Promise<void>;
}

/**
 * When no former owner of a partition can be at work any more: its session ends after 6 s, its
 * inserts after 60 s.
 */
const SURE_AFTER = '90 seconds';
const MOST = 500;

export function postgresRefolds(database: Pick<Database, 'query'>): RefoldRequests {
  return {
    async due(partition) {
      const { rows } = await database.query<{
        request: string;
        profile: Buffer;
        from_offset: string;
        applied: boolean;
      }>(
        `SELECT request, profile, from_offset, applied_at IS NOT NULL AS applied FROM profile_refolds
         WHERE partition = $1 AND (applied_at IS NULL OR applied_at < clock_timestamp() - interval '${SURE_AFTER}') ORDER BY request LIMIT ${MOST}`,
        [partition],
      );
      return rows.map(({ request, profile, from_offset, applied }) => ({
        id: Number(request),
        profile: readProfile(new RowBinaryReader(profile)),
        fromOffset: Number(from_offset),
        applied,
      }));
    },
    async applied(ids) {
      await database.query(
        'UPDATE profile_refolds SET applied_at = clock_timestamp() WHERE request = ANY($1::bigint[])',
        [ids],
      );
    },
    async done(ids) {
      await database.query('DELETE FROM profile_refolds WHERE request = ANY($1::bigint[])', [ids]);
    },
    async ask(requests) {
      for (const { partition, profile, fromOffset } of requests) {
        const writer = new RowBinaryWriter();
        writeProfile(writer, profile);
        await database.query(
          `INSERT INTO profile_refolds (account_id, name, partition, profile, from_offset) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (account_id, name) DO UPDATE SET partition = excluded.partition, request = excluded.request, profile = excluded.profile,
             from_offset = excluded.from_offset, asked_at = excluded.asked_at, applied_at = NULL`,
          [profile.accountId, escapeText(profile.name), partition, writer.take(), fromOffset],
        );
      }
    },
  };
}
