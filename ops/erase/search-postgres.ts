import { escapeText } from '../../platform/postgres/escaped-text.ts';
import { readErasuresById } from '../../platform/log/erasures.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { deliveryPatterns } from './delivery-patterns.ts';
import { countHeld } from './message-rows.ts';
import { stillNamed } from './postgres-rows.ts';
import type { Finding, Search, Verification } from './findings.ts';
import { postgresPatterns } from './needles.ts';

/** The request itself, which holds the names until a verification has passed. */
const NOT_SEARCHED = new Set(['erasures']);
/** Rows of a distinct id that later aliases may name again. */
const BY_NAME = new Set(['identity_names', 'profile_refolds']);
/** By table, which rows are the person's: other people's events that name it stay as they are. */
const OWN: Readonly<Record<string, string>> = {
  alias_facts: 'user_id = ANY($6::text[])',
  relay_deliveries: 'payload ~ ANY ($7::text[])',
  channel_addresses:
    "(user_id = ANY($6::text[]) OR (user_id = '' AND anonymous_id = ANY($6::text[])))",
};
const POSITION = ['epoch', 'partition', 'log_offset'];
/** When a row of a person was written, ms since the epoch: later ones are of a new person. */
const WRITTEN_AT: Readonly<Record<string, string>> = {
  inbox_entries: 'extract(epoch FROM t.created_at) * 1000',
  announced_opt_outs: 't.received_at',
};

/** Rows that commands of channels left have their time, ms. */
function writtenAt(table: string, columns: readonly string[]): string | undefined {
  const isOfCommand = columns.includes('received_at') && columns.includes('log_partition');
  return isOfCommand ? 't.received_at' : WRITTEN_AT[table];
}

/** The same of messages, which are the person's until a time of their own. */
const PLANNED_AT: Readonly<Record<string, string>> = {
  message_recipients: 'extract(epoch FROM t.created_at) * 1000',
  short_links: 'extract(epoch FROM t.created_at) * 1000',
};

interface Table {
  schema: string;
  table: string;
  columns: string[];
}

/** Searches every column of every table. */
export async function searchPostgres(
  { database }: { database: Pick<Database, 'query'> },
  { erasure, needles, signal }: Search,
): Promise<Verification> {
  const { accountId, names = [], cuts = [], requestedAt, messagesUntil } = erasure;
  const tables = await database.query<Table>(
    `SELECT table_schema AS schema, table_name AS table, array_agg(column_name::text) AS columns
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')
     GROUP BY table_schema, table_name ORDER BY table_schema, table_name`,
  );
  const named = new Set(await stillNamed(database, { accountId, names }));
  const findings: Finding[] = [];
  const mentions: Finding[] = [];
  for (const { schema, table, columns } of tables.rows) {
    if (NOT_SEARCHED.has(table)) continue;
    signal.throwIfAborted();
    const ofAccount = columns.includes('account_id')
      ? 'AND (account_id = $2 OR account_id IS NULL)'
      : '';
    const isPlaced = POSITION.every((column) => columns.includes(column));
    const before = isPlaced
      ? `AND EXISTS (SELECT 1 FROM unnest($3::int[], $4::int[], $5::bigint[]) AS cut (partition, epoch, log_offset)
           WHERE cut.partition = t.partition AND (t.epoch, t.log_offset) < (cut.epoch, cut.log_offset))`
      : '';
    const planned = PLANNED_AT[table];
    const at = planned ?? writtenAt(table, columns);
    const until = at === undefined ? '$8::float8 IS NULL OR true' : `${at} <= $8::float8`;
    const end = planned === undefined ? requestedAt : (messagesUntil ?? Number.MAX_SAFE_INTEGER);
    for (const needle of needles) {
      const patterns = postgresPatterns(needle);
      if (needle.isName && BY_NAME.has(table) && named.has(needle.text)) continue;
      const isTheirs = needle.isName && OWN[table] !== undefined;
      const countOwn =
        needle.isName && OWN[table] !== undefined ? `count(*) FILTER (WHERE ${OWN[table]})` : '0';
      const { rows } = await database.query<{ count: number; own: number }>(
        `SELECT count(*)::int AS count, ${countOwn}::int AS own FROM "${schema}"."${table}" AS t
         WHERE to_jsonb(t)::text ~ ANY ($1::text[])
         ${ofAccount === '' ? 'AND ($2::bigint IS NULL OR true)' : ofAccount} ${before === '' ? 'AND ($3::int[] IS NULL OR $4::int[] IS NULL OR $5::bigint[] IS NULL OR true)' : before}
         AND ($6::text[] IS NULL OR $7::text[] IS NULL OR true) AND (${until})`,
        [
          patterns,
          accountId,
          cuts.map(({ partition }) => partition),
          cuts.map(({ epoch }) => epoch),
          cuts.map(({ offset }) => offset),
          names.map(escapeText),
          deliveryPatterns(names),
          end,
        ],
      );
      const count = rows[0]?.count ?? 0;
      const own = isTheirs ? (rows[0]?.own ?? 0) : count;
      const name = schema === 'public' ? table : `${schema}.${table}`;
      const place = { store: 'postgres', place: name } as const;
      if (own > 0) findings.push({ ...place, count: own });
      if (count > own) mentions.push({ ...place, count: count - own });
    }
  }
  return { findings: [...findings, ...(await queued(database, erasure))], mentions };
}

/** Records of messages, which no text of a row shows. */
async function queued(
  database: Pick<Database, 'query'>,
  { id, accountId, names = [] }: Search['erasure'],
): Promise<Finding[]> {
  const erased = await readErasuresById(database, [id]);
  const { chunks, outcomes } = await countHeld(database, { accountId, names, erased });
  const found = { message_chunks: chunks, message_outbox: outcomes };
  return Object.entries(found).flatMap(([place, count]) =>
    count > 0 ? [{ store: 'postgres', place, count } as const] : [],
  );
}
