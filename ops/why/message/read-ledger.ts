import { isJsonObject } from '../../../events/json.ts';
import { trackingRef } from '../../../messaging/delivery/track-email.ts';
import { splitOutcomes } from '../../../messaging/outcomes/outcome-frames.ts';
import { joinLimits, readLimits } from '../../../messaging/senders/limits.ts';
import { joinedName } from '../../../messaging/senders/sender.ts';
import { unescapeText } from '../../../platform/postgres/escaped-text.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { messageOutcomeCodec } from '../../../schemas/codec.ts';
import type { Reservation, SenderFacts, TrackedOpens } from './facts.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';

type Queries = Pick<Database, 'query'>;

const ms = (column: string) => `extract(epoch FROM ${column})::float8 * 1000`;

/** Rows of the outbox that are searched, the newest first. */
const SEARCHED_ROWS = 5000;

/** The outcome of a message that is final and not published yet. Rejects as PostgreSQL does. */
export async function readOutbox(
  database: Queries,
  { accountId, messageId }: { accountId: number; messageId: string },
): Promise<MessageOutcome | undefined> {
  const { rows } = await database.query<{ outcomes: Buffer }>(
    `SELECT o.outcomes FROM (SELECT id FROM message_outbox ORDER BY id DESC LIMIT ${SEARCHED_ROWS}) newest JOIN message_outbox o USING (id)
     WHERE o.account_id = $1 AND position(convert_to($2, 'UTF8') IN o.outcomes) > 0 LIMIT 1`,
    [accountId, messageId],
  );
  for (const { outcomes } of rows)
    for (const record of splitOutcomes(Buffer.from(outcomes))) {
      const outcome = messageOutcomeCodec.decode(record);
      if (outcome.message_id === messageId) return outcome;
    }
  return undefined;
}

interface ReservationRow {
  reserved_at: number;
  opened_at: number | null;
  opened_with: string;
  finished_at: number | null;
  result: NonNullable<Reservation['result']> | null;
}

/** Undefined: nobody asked for it within API_IDEMPOTENCY_RETENTION. */
export async function readReservation(
  database: Queries,
  { accountId, idempotencyKey }: { accountId: number; idempotencyKey: string },
): Promise<Reservation | undefined> {
  const { rows } = await database.query<ReservationRow>(
    `SELECT ${ms('reserved_at')} AS reserved_at, ${ms('opened_at')} AS opened_at, opened_with, ${ms('finished_at')} AS finished_at, result
     FROM transactional_messages WHERE account_id = $1 AND idempotency_key = $2`,
    [accountId, idempotencyKey],
  );
  const [row] = rows;
  return (
    row && {
      ...{ reservedAt: row.reserved_at, openedAt: row.opened_at ?? undefined },
      ...{ openedWith: row.opened_with, finishedAt: row.finished_at ?? undefined },
      result: row.result ?? undefined,
    }
  );
}

interface SenderRow {
  provider: string;
  config: unknown;
  enabled: boolean;
  broken_reason: string;
  broken_at: number | null;
  used_until: number | null;
}

/** Of senders side by side as one: the first that is refused. Undefined: the channel has none. */
export async function readSender(
  database: Queries,
  { accountId, channel }: { accountId: number; channel: string },
): Promise<SenderFacts | undefined> {
  const { rows } = await database.query<SenderRow>(
    `SELECT s.provider, s.config, s.enabled, s.broken_reason, ${ms('s.broken_at')} AS broken_at, ${ms('r.used_until')} AS used_until
     FROM message_senders s LEFT JOIN message_sender_rates r USING (account_id, channel) WHERE s.account_id = $1 AND s.channel = $2 ORDER BY s.provider`,
    [accountId, channel],
  );
  const enabled = rows.filter((row) => row.enabled);
  const [first = rows[0]] = enabled;
  if (!first) return undefined;
  const limits = enabled.flatMap(({ config, provider }) =>
    isJsonObject(config) ? readLimits(config, provider) : [],
  );
  const refused = enabled.find((row) => row.broken_reason !== '') ?? first;
  const name = enabled.length > 1 ? `${refused.provider}: ` : '';
  return {
    provider: joinedName(enabled.map(({ provider }) => provider)) || first.provider,
    isEnabled: first.enabled,
    broken:
      refused.broken_reason === ''
        ? undefined
        : { reason: name + unescapeText(refused.broken_reason), at: refused.broken_at ?? 0 },
    perSecond: joinLimits(limits).perSecond,
    usedUntil: first.used_until ?? undefined,
  };
}

/** Undefined: the message has no open pixel, or left message_recipients. */
export async function readOpens(
  database: Queries,
  { accountId, messageId }: { accountId: number; messageId: string },
): Promise<TrackedOpens | undefined> {
  const { rows } = await database.query<Record<'opened_at' | 'by_person_at', number | null>>(
    `SELECT ${ms('opened_at')} AS opened_at, ${ms('opened_by_person_at')} AS by_person_at FROM message_recipients WHERE account_id = $1 AND ref = $2`,
    [accountId, trackingRef(messageId)],
  );
  const [row] = rows;
  return (
    row && { openedAt: row.opened_at ?? undefined, openedByPersonAt: row.by_person_at ?? undefined }
  );
}
