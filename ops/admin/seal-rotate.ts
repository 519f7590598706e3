import { inboxSecretPurpose } from '../../events/channels/inbox-credential.ts';
import { relayPurpose } from '../../events/relays/definition.ts';
import { connectionPurpose, isWebhookSource } from '../../events/webhooks/sources.ts';
import { senderPurpose } from '../../messaging/senders/sender.ts';
import { recordAudit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { SealError, type Sealer } from '../../platform/sealing.ts';
import { sealingSettings } from '../../platform/sealing-settings.ts';
import { parseSettings } from '../../platform/settings.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand } from './command.ts';

interface SealedRow {
  id: string;
  account_id: string;
  secret: Buffer;
  /** Of webhook_connections. */
  source?: string;
  /** Of app_inbox_secrets. */
  app_id?: string;
  /** Of message_senders. */
  channel?: string;
}

interface SealedTable {
  table: string;
  columns: string;
  purpose: (row: SealedRow) => string;
}

/** Every table that holds sealed secrets, in a column `secret`. */
const TABLES: readonly SealedTable[] = [
  {
    table: 'webhook_connections',
    columns: 'id, account_id, secret, source',
    purpose: ({ account_id, source = '' }) => {
      if (!isWebhookSource(source))
        throw new CommandError(
          `webhook_connections holds the source ${source}, which this version does not know`,
        );
      return connectionPurpose({ accountId: Number(account_id), source });
    },
  },
  {
    table: 'relays',
    columns: 'id, account_id, secret',
    purpose: ({ account_id, id }) =>
      relayPurpose({ accountId: Number(account_id), id: Number(id) }),
  },
  {
    table: 'app_inbox_secrets',
    columns: 'id, account_id, secret, app_id',
    purpose: ({ account_id, app_id }) =>
      inboxSecretPurpose({ accountId: Number(account_id), appId: Number(app_id) }),
  },
  {
    table: 'message_senders',
    columns: 'id, account_id, secret, channel',
    purpose: ({ account_id, channel = '' }) =>
      senderPurpose({ accountId: Number(account_id), channel }),
  },
];

const PAGE = 500;

/**
 * `./ravand admin seal rotate`: reseals every stored secret with the first key of SEALING_KEY.
 * Idempotent; a secret that is saved in the meantime wins.
 */
export const sealRotate = adminCommand({
  name: 'seal rotate',
  usage: 'seal rotate',
  options: {},
  async run(_line, { database, env }) {
    const { SEALING_KEY: sealer } = parseSettings(sealingSettings, env);
    if (!sealer)
      throw new CommandError(
        'SEALING_KEY is empty: give it as id:base64, the new key first and the old one behind it',
      );
    const counts = { resealed: 0, current: 0, unreadable: 0 };
    for (const table of TABLES) await rotateTable({ database, sealer, counts }, table);
    await recordAudit(database, {
      accountId: null,
      actor: 'operator',
      action: 'secrets.resealed',
      details: counts,
    });
    if (counts.unreadable > 0)
      throw new CommandError(
        `${counts.resealed} secrets were resealed, but ${counts.unreadable} cannot be opened: add the key that sealed them to SEALING_KEY, or save them again`,
      );
    return counts;
  },
});

interface Rotation {
  database: Pick<Database, 'query'>;
  sealer: Sealer;
  counts: { resealed: number; current: number; unreadable: number };
}

async function rotateTable(
  { database, sealer, counts }: Rotation,
  { table, columns, purpose }: SealedTable,
): Promise<void> {
  for (let after = '0'; ;) {
    const { rows } = await database.query<SealedRow>(
      `SELECT ${columns} FROM ${table} WHERE secret IS NOT NULL AND id > $1::bigint ORDER BY id LIMIT ${PAGE}`,
      [after],
    );
    for (const row of rows) {
      const sealed = reseal(sealer, row.secret, purpose(row));
      if (typeof sealed === 'string') {
        counts[sealed]++;
        continue;
      }
      const changed = await database.query(
        `UPDATE ${table} SET secret = $3 WHERE id = $1 AND secret = $2`,
        [row.id, row.secret, sealed],
      );
      counts.resealed += changed.rowCount ?? 0;
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last.id;
  }
}

function reseal(
  sealer: Sealer,
  sealed: Buffer,
  purpose: string,
): Buffer | 'current' | 'unreadable' {
  try {
    const plain = sealer.open(sealed, purpose);
    return sealer.isCurrent(sealed) ? 'current' : sealer.seal(plain, purpose);
  } catch (error) {
    if (error instanceof SealError) return 'unreadable';
    throw error;
  }
}
