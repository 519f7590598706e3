import { REQUIRED } from '../../cli/arguments.ts';
import { brokenEntry, type ChainEntry } from '../../events/channels/consent-chain.ts';
import { namesOf } from '../../platform/addresses/read-addresses.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { adminCommand, idOption } from './command.ts';

type Row = Record<
  'channel' | 'state' | 'source' | 'text_version' | 'ip' | 'user_agent' | 'received_at',
  string
> & { number: number; hash: Buffer };

const LOG = `SELECT number, channel, state, source, text_version, ip, user_agent, received_at, hash
  FROM consent_log WHERE account_id = $1 AND user_id = $2 ORDER BY number`;

/**
 * `./ravand admin consent show`: every change of a person's consents, by name, and whether the
 * chain of hashes is whole. `broken_at`: the first entry that was changed or removed.
 * `erased_before`: an erasure removed the entries before this one (`./ravand erase status`).
 */
export const consentShow = adminCommand({
  name: 'consent show',
  usage: 'consent show --account ID --user-id U',
  options: { account: REQUIRED, 'user-id': REQUIRED },
  async run({ values }, { database }) {
    const accountId = idOption(values, 'account');
    const names = await namesOf(database, { accountId, userId: values['user-id'] });
    const chains = [];
    for (const userId of names) {
      const chain = await readChain(database, { accountId, userId });
      if (chain.entries.length > 0) chains.push(chain);
    }
    return { chains, verified: chains.every(({ broken_at }) => broken_at === null) };
  },
});

async function readChain(
  database: Pick<Database, 'query'>,
  owner: { accountId: number; userId: string },
): Promise<{
  user_id: string;
  entries: object[];
  erased_before: number | null;
  broken_at: number | null;
}> {
  const { rows } = await database.query<Row>(LOG, [owner.accountId, escapeText(owner.userId)]);
  const entries = rows.map(({ number, hash, text_version, user_agent, received_at, ...row }) => ({
    number,
    entry: {
      ...{ channel: row.channel, state: row.state, source: row.source, ip: unescapeText(row.ip) },
      ...{ textVersion: unescapeText(text_version), userAgent: unescapeText(user_agent) },
      receivedAt: Number(received_at),
    },
    hash,
  })) satisfies ChainEntry[];
  const first = entries[0]?.number ?? 0;
  return {
    user_id: owner.userId,
    entries: entries.map(({ number, entry, hash }) => ({
      number,
      ...{ channel: entry.channel, state: entry.state, source: entry.source, ip: entry.ip },
      ...{ text_version: entry.textVersion, user_agent: entry.userAgent },
      at: new Date(entry.receivedAt).toISOString(),
      hash: hash.toString('hex'),
    })),
    erased_before: first === 0 ? null : first,
    broken_at: brokenEntry(owner, entries) ?? null,
  };
}
