import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import type { JsonObject } from '../../events/json.ts';
import { auditedChange } from '../../platform/audited-change.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Author } from '../author.ts';
import { isSideBySide, type StoredSender } from './sender.ts';

interface Row {
  account_id: string;
  channel: Channel;
  provider: string;
  config: JsonObject;
  secret: Buffer | null;
  enabled: boolean;
  revision: string;
  broken_reason: string;
  broken_at: Date | null;
}

const COLUMNS =
  'account_id, channel, provider, config, secret, enabled, revision, broken_reason, broken_at';
const AUDIT = `jsonb_build_object('channel', channel, 'provider', provider, 'enabled', enabled) AS audit`;
const MAX_REASON_CHARACTERS = 500;

/** One state of a sender. */
export type SenderName = Pick<StoredSender, 'accountId' | 'channel' | 'provider' | 'revision'>;

/** A channel of an account, as a key of maps. */
export type SenderKey = `${number}:${Channel}`;

export function senderKey(accountId: number, channel: Channel): SenderKey {
  return `${accountId}:${channel}`;
}

/**
 * Senders of accounts: one of each channel, except those side by side (sender.ts). Every method
 * rejects when PostgreSQL does.
 */
export class SenderStore {
  readonly #database: Pick<Database, 'query'>;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /** The enabled and disabled senders of these channels, in the order of their providers' names. */
  async find(keys: readonly SenderKey[]): Promise<Map<SenderKey, StoredSender[]>> {
    const parts = keys.map((key) => key.split(':'));
    const { rows } = await this.#database.query<Row>(
      `SELECT ${COLUMNS} FROM message_senders JOIN unnest($1::bigint[], $2::text[]) AS wanted (account_id, channel) USING (account_id, channel) ORDER BY provider`,
      [parts.map(([accountId]) => accountId), parts.map(([, channel]) => channel)],
    );
    const senders = rows.map(senderOf);
    return Map.groupBy(senders, ({ accountId, channel }) => senderKey(accountId, channel));
  }

  /** All of an account, in the order of CHANNELS. */
  async list(accountId: number): Promise<StoredSender[]> {
    const found = await this.find(CHANNELS.map((channel) => senderKey(accountId, channel)));
    return CHANNELS.flatMap((channel) => found.get(senderKey(accountId, channel)) ?? []);
  }

  /**
   * Stores the sender of a channel in the place of the former one, enabled, or side by side with
   * it. Without a secret that of the former one of the same provider stays. The config and the
   * secret were checked by checkSender.
   */
  async save(
    { accountId, actor }: Author,
    sender: { channel: Channel; provider: string; config: JsonObject; secret: Buffer | undefined },
  ): Promise<StoredSender> {
    const { channel, provider, config, secret } = sender;
    const [row] = await auditedChange<Row>(this.#database, {
      steps: [
        `replaced AS (DELETE FROM message_senders WHERE account_id = $1 AND channel = $2 AND provider <> $3 AND NOT $6::boolean)`,
      ],
      statement: `INSERT INTO message_senders AS known (account_id, channel, provider, config, secret) VALUES ($1, $2, $3, $4::json, $5)
        ON CONFLICT (account_id, channel, provider) DO UPDATE SET config = excluded.config, enabled = true,
          secret = coalesce(excluded.secret, known.secret), revision = excluded.revision, broken_reason = '', broken_at = NULL, updated_at = clock_timestamp()
        RETURNING ${COLUMNS}, ${AUDIT}`,
      values: [
        ...[accountId, channel, provider, JSON.stringify(config), secret ?? null],
        isSideBySide(sender),
      ],
      ...{ actor, action: 'message_sender.saved', details: { new_secret: secret !== undefined } },
    });
    if (!row) throw new Error('the sender was not stored');
    return senderOf(row);
  }

  /**
   * Switches the senders of a channel, or that of a provider; empty: the account has none.
   */
  async setEnabled(
    { accountId, actor }: Author,
    of: { channel: Channel; provider?: string | undefined; enabled: boolean },
  ): Promise<StoredSender[]> {
    const rows = await auditedChange<Row>(this.#database, {
      statement: `UPDATE message_senders SET enabled = $3, revision = nextval('message_sender_revisions'), updated_at = clock_timestamp()
        WHERE account_id = $1 AND channel = $2 AND ($4::text IS NULL OR provider = $4) RETURNING ${COLUMNS}, ${AUDIT}`,
      values: [accountId, of.channel, of.enabled, of.provider ?? null],
      ...{ actor, action: 'message_sender.switched', details: {} },
    });
    return rows.map(senderOf);
  }

  /**
   * Records why the provider refuses a sender; nothing happens when the sender was changed since
   * this revision. Another reason for the same revision replaces the first one.
   */
  async markBroken(sender: SenderName, reason: string): Promise<void> {
    await this.#database.query(
      `UPDATE message_senders SET broken_reason = $4, broken_at = coalesce(broken_at, clock_timestamp())
       WHERE account_id = $1 AND channel = $2 AND revision = $3 AND provider = $5`,
      [
        ...[sender.accountId, sender.channel, sender.revision],
        escapeText(reason.slice(0, MAX_REASON_CHARACTERS)) || 'refused',
        sender.provider,
      ],
    );
  }

  /** The sender works again without a change of its config: credit was bought, for example. */
  async markWorking(sender: SenderName): Promise<void> {
    await this.#database.query(
      `UPDATE message_senders SET broken_reason = '', broken_at = NULL
       WHERE account_id = $1 AND channel = $2 AND revision = $3 AND provider = $4 AND broken_reason <> ''`,
      [sender.accountId, sender.channel, sender.revision, sender.provider],
    );
  }
}

function senderOf(row: Row): StoredSender {
  const { channel, provider, config, secret, enabled } = row;
  return {
    ...{ accountId: Number(row.account_id), channel, provider, config, enabled },
    secret: secret === null ? undefined : Buffer.from(secret),
    revision: Number(row.revision),
    broken:
      row.broken_reason === ''
        ? undefined
        : { reason: unescapeText(row.broken_reason), at: row.broken_at?.getTime() ?? 0 },
  };
}
