import { RefusedChange } from '../../events/channels/fields.ts';
import { auditedChange } from '../../platform/audited-change.ts';
import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Author } from '../author.ts';
import { parseSettingTexts, settingProblem, type SettingTexts } from './setting-texts.ts';
import { DEFAULT_SETTINGS, type MessageSettings } from './settings.ts';

/** How long settings are used before they are read again, ms. */
const FRESH_MS = 2000;
/** Accounts whose settings a process keeps. */
const MAX_KEPT = 10_000;

export type ReadMessageSettings = (accountId: number) => Promise<MessageSettings>;

/**
 * Reads the settings of accounts; a change is seen within FRESH_MS. Rejects when the store does,
 * and for settings that this version cannot read: nothing is sent by rules that are not known.
 */
export function messageSettingsReader(options: {
  database: Pick<Database, 'query'>;
  /** ms, monotonic */
  now: () => number;
}): ReadMessageSettings {
  const { database, now } = options;
  const kept = new BoundedMap<number, { settings: MessageSettings; readAt: number }>(MAX_KEPT);
  const lookup = new BatchedLookup((ids: number[]) => readTexts(database, ids));
  return async (accountId) => {
    const known = kept.get(accountId);
    if (known && now() - known.readAt < FRESH_MS) return known.settings;
    const readAt = now();
    const texts = await lookup.find(accountId);
    const settings = texts ? parseSettingTexts(texts) : DEFAULT_SETTINGS;
    kept.set(accountId, { settings, readAt });
    return settings;
  };
}

/** The texts of one account; empty when it has set none. */
export async function readSettingTexts(
  database: Pick<Database, 'query'>,
  accountId: number,
): Promise<SettingTexts> {
  return (await readTexts(database, [accountId])).get(accountId) ?? {};
}

/**
 * Changes the named settings and keeps the others; an empty text is the default. Throws
 * RefusedChange for a text that cannot be read.
 */
export async function changeSettings(
  database: Pick<Database, 'query'>,
  { accountId, actor }: Author,
  changes: SettingTexts,
): Promise<SettingTexts> {
  for (const [name, text] of Object.entries(changes)) {
    const problem = settingProblem(name as keyof SettingTexts, text);
    if (problem !== undefined) throw new RefusedChange(problem);
  }
  const [row] = await auditedChange<{ settings: SettingTexts }>(database, {
    statement: `INSERT INTO message_settings AS known (account_id, settings) VALUES ($1, $2::json)
      ON CONFLICT (account_id) DO UPDATE SET settings = (known.settings::jsonb || excluded.settings::jsonb)::json, updated_at = clock_timestamp()
      RETURNING account_id, settings, '{}'::jsonb AS audit`,
    values: [accountId, JSON.stringify(changes)],
    ...{ actor, action: 'message_settings.changed', details: changes },
  });
  if (!row) throw new Error('the settings were not stored');
  return row.settings;
}

async function readTexts(
  database: Pick<Database, 'query'>,
  accountIds: readonly number[],
): Promise<Map<number, SettingTexts>> {
  const { rows } = await database.query<{ account_id: string; settings: SettingTexts }>(
    'SELECT account_id, settings FROM message_settings WHERE account_id = ANY($1::bigint[])',
    [accountIds],
  );
  return new Map(rows.map((row) => [Number(row.account_id), row.settings]));
}
