import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Touched } from './publish-states.ts';
import type { ChannelPosition } from './write-batch.ts';

/** Positions in one partition that were applied, and that the log has lost since. */
export interface LostRecords {
  partition: number;
  /** The first offset that the log replaced. */
  from: number;
  /** Up to where the log was applied before it lost them. */
  to: ChannelPosition;
}

interface Row {
  what: 'address' | 'end' | 'token';
  account_id: string;
  channel: string;
  user_id: string;
  address_id: string;
  token_hash: Buffer | null;
}

const WRITTEN = 'log_partition = $1 AND log_epoch <= $2 AND log_offset >= $3';
const BY_LOST = `SELECT 'address' AS what, account_id, channel, user_id, address_id, NULL::bytea AS token_hash FROM channel_addresses WHERE ${WRITTEN}
  UNION ALL SELECT 'end', account_id, channel, user_id, address_id, NULL FROM channel_ends WHERE ${WRITTEN}
  UNION ALL SELECT 'token', account_id, '', '', address_id, token_hash FROM channel_tokens WHERE ${WRITTEN}`;

/**
 * What lost records changed last. A process that was killed between PostgreSQL and ClickHouse left
 * these states unpublished, and nobody reads the records again.
 */
export async function touchedByLost(
  database: Pick<Database, 'query'>,
  { partition, from, to }: LostRecords,
): Promise<Touched> {
  const { rows } = await database.query<Row>(BY_LOST, [partition, to.epoch, from]);
  const all = rows.map((row) => ({
    ...{ what: row.what, account_id: Number(row.account_id), channel: row.channel },
    ...{ user_id: unescapeText(row.user_id), address_id: unescapeText(row.address_id) },
    token_hash: Buffer.from(row.token_hash ?? []),
  }));
  return {
    addresses: all.filter(({ what, address_id }) => what !== 'token' && address_id !== ''),
    users: all.filter(({ what, address_id }) => what === 'end' && address_id === ''),
    tokens: all.filter(({ what }) => what === 'token'),
  };
}
