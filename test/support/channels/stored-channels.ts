import type { ClickHouseClient } from '@clickhouse/client';
import type pg from 'pg';
import { brokenEntry } from '../../../events/channels/consent-chain.ts';
import { unescapeText } from '../../../platform/postgres/escaped-text.ts';
import { channelCommandCodec } from '../../../schemas/codec.ts';
import type { ChannelCommand } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { readTopic, topicEnds } from '../read-topic.ts';
import { rows } from '../stack.ts';
import type { ChannelState } from './expected-channels.ts';

/** The commands of an account since `from`, in log order, with repeats. */
export async function readCommandsSince(
  from: ReadonlyMap<number, number>,
  accountId: number,
): Promise<ChannelCommand[]> {
  const topic = TOPIC.channelCommands;
  const messages = await readTopic({ topic, from, to: await topicEnds(topic) });
  return messages
    .map(({ value }) => channelCommandCodec.decode(value))
    .filter((command) => command.account_id === accountId);
}

/** What PostgreSQL has of an account. */
export async function readPostgresState(
  database: pg.Pool,
  accountId: number,
): Promise<ChannelState> {
  const addresses = await database.query<Record<string, string>>(
    `SELECT channel, address_id, user_id, anonymous_id, reason FROM channel_address_states WHERE account_id = $1`,
    [accountId],
  );
  const consents = await database.query<Record<string, string>>(
    'SELECT user_id, channel, state FROM channel_consents WHERE account_id = $1',
    [accountId],
  );
  return {
    addresses: Object.fromEntries(
      addresses.rows.map((row) => [
        `${row['channel']} ${unescapeText(row['address_id'] ?? '')}`,
        {
          user: unescapeText(row['user_id'] ?? ''),
          anonymous: unescapeText(row['anonymous_id'] ?? ''),
          reason: row['reason'] ?? '',
        },
      ]),
    ),
    consents: Object.fromEntries(
      consents.rows.map((row) => [
        `${unescapeText(row['user_id'] ?? '')} ${row['channel']}`,
        row['state'] ?? '',
      ]),
    ),
  };
}

/** What ClickHouse has of an account: `channel id` → the distinct id, when it is active. */
export async function readClickhouseState(
  client: ClickHouseClient,
  accountId: number,
): Promise<Record<string, { name: string; active: boolean }>> {
  const found = await rows<{ key: string; name: string; active: boolean }>(
    client,
    `SELECT concat(channel, ' ', address_id) AS key, name, active FROM addresses FINAL
     WHERE account_id = {id:UInt64}`,
    { id: accountId },
  );
  return Object.fromEntries(found.map(({ key, name, active }) => [key, { name, active }]));
}

/** The same as PostgreSQL or the fold has it. */
export function asInClickhouse({
  addresses,
}: ChannelState): Record<string, { name: string; active: boolean }> {
  return Object.fromEntries(
    Object.entries(addresses).map(([key, { user, anonymous, reason }]) => [
      key,
      { name: user || anonymous, active: reason === '' },
    ]),
  );
}

export interface ConsentChains {
  /** Users whose chain is broken, or whose entries are not numbered 0, 1, 2 … */
  broken: string[];
  /** `gateway sequence` of the entries. */
  orders: Set<string>;
  entries: number;
}

/** The log of consents of an account. */
export async function readConsentChains(
  database: pg.Pool,
  accountId: number,
): Promise<ConsentChains> {
  const { rows: found } = await database.query<Record<string, string> & { hash: Buffer }>(
    `SELECT user_id, number, channel, state, source, text_version, ip, user_agent, received_at, gateway, sequence, hash
     FROM consent_log WHERE account_id = $1 ORDER BY user_id, number`,
    [accountId],
  );
  const byUser = Map.groupBy(found, (row) => row['user_id'] ?? '');
  const broken = [...byUser].flatMap(([userId, own]) => {
    const entries = own.map((row) => ({
      number: Number(row['number']),
      entry: {
        ...{ channel: row['channel'] ?? '', state: row['state'] ?? '' },
        ...{ source: row['source'] ?? '', ip: unescapeText(row['ip'] ?? '') },
        textVersion: unescapeText(row['text_version'] ?? ''),
        userAgent: unescapeText(row['user_agent'] ?? ''),
        receivedAt: Number(row['received_at']),
      },
      hash: row.hash,
    }));
    const owner = { accountId, userId: unescapeText(userId) };
    const isWhole = entries[0]?.number === 0 && brokenEntry(owner, entries) === undefined;
    return isWhole ? [] : [userId];
  });
  return {
    broken,
    orders: new Set(found.map((row) => `${row['gateway']} ${row['sequence']}`)),
    entries: found.length,
  };
}
