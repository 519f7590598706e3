import type { Database } from '../../platform/postgres/pool.ts';
import type { PlacedCommand } from './registers.ts';

/**
 * What a partition holds of the commands that a gateway wrote for an account. `written` less
 * `refused` were answered 200; fewer that were applied are missing.
 */
export interface CommandBook {
  account_id: number;
  gateway: string;
  /** Commands up to the last one that was read, by the gateway's count. */
  written: number;
  /** Of these, not durable: they may be in the log or not. */
  refused: number;
  /** Read and applied, each once. */
  applied: number;
}

const READ = `SELECT account_id::float8, gateway, written::float8, refused::float8, applied::float8 FROM channel_books
  WHERE partition = $1 AND (account_id, gateway) IN (SELECT * FROM unnest($2::bigint[], $3::text[]))`;

/** The books after commands of a partition. A repeat of a publish counts once. */
export async function countCommands(
  database: Pick<Database, 'query'>,
  { partition, commands }: { partition: number; commands: readonly PlacedCommand[] },
): Promise<CommandBook[]> {
  const keys = new Map(commands.map((one) => [keyOf(one), one]));
  if (keys.size === 0) return [];
  const { rows } = await database.query<CommandBook>(READ, [
    partition,
    [...keys.values()].map(({ account_id }) => account_id),
    [...keys.values()].map(({ gateway }) => gateway),
  ]);
  const books = new Map(rows.map((row) => [keyOf(row), { ...row }]));
  for (const command of commands) count(books, command);
  return [...books.values()];
}

/**
 * Those of a gateway for an account are in the order of its count, apart from repeats
 * (ingest-gateway/publish/publisher.ts).
 */
function count(books: Map<string, CommandBook>, command: PlacedCommand): void {
  const { account_id, gateway, written_before: before, refused_before: refused } = command;
  const key = keyOf(command);
  const known = books.get(key) ?? { account_id, gateway, written: 0, refused: 0, applied: 0 };
  if (before < known.written) return;
  books.set(key, {
    ...{ account_id, gateway, written: before + 1, applied: known.applied + 1 },
    refused: Math.max(known.refused, refused),
  });
}

function keyOf({ account_id, gateway }: Pick<CommandBook, 'account_id' | 'gateway'>): string {
  return `${account_id} ${gateway}`;
}

export interface CommandTotals {
  /** Answered 200, as far as the log was read. */
  accepted: number;
  applied: number;
  /** Answered 200, and not in the log. */
  missing: number;
}

const TOTALS = `SELECT coalesce(sum(written - refused), 0)::float8 AS accepted, coalesce(sum(applied), 0)::float8 AS applied,
    coalesce(sum(greatest(0, written - refused - applied)), 0)::float8 AS missing
  FROM channel_books WHERE $1::bigint IS NULL OR account_id = $1`;

/** Of one account, or of all. */
export async function readCommandTotals(
  database: Pick<Database, 'query'>,
  accountId?: number,
): Promise<CommandTotals> {
  const { rows } = await database.query<CommandTotals>(TOTALS, [accountId ?? null]);
  return rows[0] ?? { accepted: 0, applied: 0, missing: 0 };
}
