import { countText } from '../../cli/format.ts';
import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import { ClaimStore } from '../../platform/claims/claim-store.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { attempt } from './attempt.ts';
import type { Fact } from './evidence.ts';
import type { Sources } from './gather.ts';
import { RECENT, RECENT_MS, searchRaw, SINCE } from './log-search.ts';
import { accountsWithRows } from './warehouse.ts';

/** Accounts that have an event of one message id, in order; and where they were looked for. */
export interface FoundAccounts {
  accounts: number[];
  /** A phrase for each place, also for a server that did not answer. */
  searched: string[];
}

export interface AccountQuestion {
  messageId: string;
  /** Search the rows and the log from this time on, ms since the epoch. */
  since: number | undefined;
  now: number;
}

/** Claims of so many accounts are read; of more, those with the highest ids. */
const MAX_ACCOUNTS = 20_000;
/** Ids that one request to Redis has, as in ClaimStore. */
const CLAIMS_A_REQUEST = 1000;
const LOG_MS = 60_000;

/**
 * Whose an event is when only its message id is known: by its row, its claim and its dead letters,
 * and if none has it by the newest records of the log. Nothing rejects.
 */
export async function findAccounts(
  sources: Sources,
  question: AccountQuestion,
): Promise<FoundAccounts> {
  const { database } = sources;
  const [rows, claims, deadLetters] = await Promise.all([
    attempt('ClickHouse', accountsWithRows(sources.clickhouse, question)),
    attempt('Redis', accountsWithClaims(sources, question.messageId)),
    attempt('PostgreSQL', accountsWithDeadLetters(database, question.messageId)),
  ]);
  const searched = [
    phrase('the stored events', rows),
    phrase('the claims', claims),
    phrase('the dead letters', deadLetters),
  ];
  const accounts = union([rows, claims, deadLetters]);
  if (accounts.length > 0) return { accounts, searched };
  const raw = await attempt('Kafka', searchLog(sources, question), LOG_MS);
  const found: Fact<number[]> = raw.known
    ? { known: true, value: raw.value.found.map(({ accountId }) => accountId) }
    : raw;
  return {
    accounts: union([found]),
    searched: [...searched, phrase(raw.known ? raw.value.searched : TOPIC.raw, raw)],
  };
}

/** What the operator reads when not exactly one account has the event. */
export function accountsText(messageId: string, { accounts, searched }: FoundAccounts): string {
  const where = `looked in ${searched.join(', ')}`;
  if (accounts.length === 0)
    return `no account has an event with the message id ${messageId}: ${where}. --since TIME searches the log further back; --account ID also asks what one account has of it`;
  return `${countText(accounts.length)} accounts have an event with the message id ${messageId}: ${accounts.join(', ')}. --account ID says which one is meant`;
}

function phrase(place: string, fact: Fact<unknown>): string {
  return fact.known ? place : `not in ${place} (${fact.why})`;
}

function union(facts: readonly Fact<readonly number[]>[]): number[] {
  const all = facts.flatMap((fact) => (fact.known ? fact.value : []));
  return [...new Set(all)].sort((a, b) => a - b);
}

async function searchLog(sources: Sources, { messageId, since, now }: AccountQuestion) {
  return searchRaw({
    admin: await sources.admin(),
    epochs: await readEpochs(sources.database, TOPIC.raw),
    ...{ reader: sources.reader, wanted: { messageId, accountId: undefined } },
    ...{ from: since ?? now - RECENT_MS, to: undefined, partition: undefined },
    budget: since === undefined ? RECENT : SINCE,
  });
}

async function accountsWithClaims(
  { database, redis, operator }: Sources,
  messageId: string,
): Promise<number[]> {
  const { rows } = await database.query<{ id: string }>(
    'SELECT id FROM accounts ORDER BY id DESC LIMIT $1',
    [MAX_ACCOUNTS],
  );
  const accounts = rows.map(({ id }) => Number(id));
  const store = new ClaimStore({ redis: await redis(), dedupeTtl: operator.settings.DEDUPE_TTL });
  const found: number[] = [];
  for (let from = 0; from < accounts.length; from += CLAIMS_A_REQUEST) {
    const some = accounts.slice(from, from + CLAIMS_A_REQUEST);
    const ids = some.map((id) => claimId(claimScope(id, 'message'), messageId));
    const entries = await store.peek(ids);
    found.push(...some.filter((_, at) => entries[at]));
  }
  return found;
}

/** The account is part of the index, so it is compared with all accounts. */
async function accountsWithDeadLetters(database: Database, messageId: string): Promise<number[]> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT id FROM accounts WHERE EXISTS
       (SELECT FROM dead_letters WHERE account_id = accounts.id AND message_id = $1)`,
    [messageId],
  );
  return rows.map(({ id }) => Number(id));
}
