import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { readProfile, writeProfile } from './profile-row.ts';
import type { Profile } from './profile.ts';
import { RowBinaryReader, RowBinaryWriter } from './row-binary.ts';

/** A profile that lacks replayed events; `profile` is its fold with them, up to `last`. */
export interface RefoldRequest {
  id: number;
  profile: Profile;
  /** Every event after `profile.last` is at or after this offset of events.normalised. */
  fromOffset: number;
  /** This owner or a former one applied it before. */
  applied: boolean;
}

/** Requests to partition owners; every method may be repeated. */
export interface RefoldRequests {
  /** Requests that were not applied yet, or so long ago that they must be checked again. */
  due(partition: number): Promise<RefoldRequest[]>;
  markApplied(ids: readonly number[]): Promise<void>;
  /** For requests whose effect nothing can revert any more. */
  remove(ids: readonly number[]): Promise<void>;
  add(
    requests: readonly { partition: number; profile: Profile; fromOffset: number }[],
  ): Promise<void>;
}

/** No former owner works longer: its session ends after 6 s, its inserts after 60 s. */
const FORMER_OWNERS_GONE = '90 seconds';
const MAX_DUE = 500;

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
         WHERE partition = $1 AND (applied_at IS NULL OR applied_at < clock_timestamp() - interval '${FORMER_OWNERS_GONE}') ORDER BY request LIMIT ${MAX_DUE}`,
        [partition],
      );
      return rows.map(({ request, profile, from_offset, applied }) => ({
        id: Number(request),
        profile: readProfile(new RowBinaryReader(profile)),
        fromOffset: Number(from_offset),
        applied,
      }));
    },
    async markApplied(ids) {
      await database.query(
        'UPDATE profile_refolds SET applied_at = clock_timestamp() WHERE request = ANY($1::bigint[])',
        [ids],
      );
    },
    async remove(ids) {
      await database.query('DELETE FROM profile_refolds WHERE request = ANY($1::bigint[])', [ids]);
    },
    async add(requests) {
      for (const { partition, profile, fromOffset } of requests) {
        const writer = new RowBinaryWriter();
        writeProfile(writer, profile);
        await database.query(
          `INSERT INTO profile_refolds (account_id, name, partition, profile, from_offset) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (account_id, name) DO UPDATE SET partition = excluded.partition, request = excluded.request, profile = excluded.profile,
             from_offset = excluded.from_offset, asked_at = excluded.asked_at, applied_at = NULL`,
          [
            profile.accountId,
            escapeText(profile.distinctId),
            partition,
            writer.finish(),
            fromOffset,
          ],
        );
      }
    },
  };
}
