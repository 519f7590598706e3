import type { Database } from '../../platform/postgres/pool.ts';
import type { FrequencyCap } from '../settings/settings.ts';

/** A message that counts for a cap while it is reserved. */
export interface CappedMessage {
  /** personKey of the canonical person. */
  person: string;
  messageId: string;
}

type Queries = Pick<Database, 'query'>;

const HOUR = 3_600_000;

/**
 * A person's row is locked before it is counted, and its newest version is: two campaigns that
 * reserve at the same time never exceed a cap together. Rows are locked in one order.
 */
const RESERVE = `INSERT INTO message_caps AS c (account_id, channel, person, reserved, expires_at)
  SELECT $1, $2, w.person, jsonb_build_object(w.message_id, $5::bigint), to_timestamp(($5::bigint + $7::bigint) / 1000.0)
  FROM unnest($3::text[], $4::text[]) AS w (person, message_id) ORDER BY w.person
  ON CONFLICT (account_id, channel, person) DO UPDATE SET
    reserved = (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(c.reserved) WHERE value::bigint > $5::bigint - $7::bigint) || excluded.reserved,
    expires_at = excluded.expires_at
  WHERE (SELECT count(*) FROM jsonb_each(c.reserved) WHERE value::bigint > $5::bigint - $7::bigint AND NOT excluded.reserved ? key) < $6
  RETURNING person`;

/**
 * Reserves places under the cap, before the messages are opened, and resolves with the ids of those
 * that have one; the others are skipped as `frequency_cap`. A message that has a place keeps it.
 * What is not sent in the end is released, or it counts until the cap's hours are over.
 * @param of.now ms since the epoch
 */
export async function reserveCaps(
  database: Queries,
  of: { accountId: number; channel: string; cap: FrequencyCap; now: number },
  messages: readonly CappedMessage[],
): Promise<Set<string>> {
  const reserved = new Set<string>();
  if (of.cap.messages < 1) return reserved;
  // A statement writes a row once: several messages of one person take one statement each.
  for (let left = [...messages]; left.length > 0;) {
    const first = new Map<string, CappedMessage>();
    for (const message of left) if (!first.has(message.person)) first.set(message.person, message);
    const wave = [...first.values()];
    const { rows } = await database.query<{ person: string }>(RESERVE, [
      ...[of.accountId, of.channel],
      wave.map(({ person }) => person),
      wave.map(({ messageId }) => messageId),
      ...[of.now, of.cap.messages, of.cap.hours * HOUR],
    ]);
    for (const { person } of rows) {
      const messageId = first.get(person)?.messageId;
      if (messageId !== undefined) reserved.add(messageId);
    }
    left = left.filter((message) => first.get(message.person) !== message);
  }
  return reserved;
}
