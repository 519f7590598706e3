import { delay } from '../../platform/backoff.ts';
import { recordAudit } from '../../platform/audit.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { pairKey, pairOf, type PairDecision } from '../../projections/identities/decisions.ts';
import { postgresIdentities, readDecisions } from '../../projections/identities/postgres-store.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { asWriter } from '../log/command-writer.ts';
import { effectOf, type Moved } from './effect.ts';
import { publishIdentityCommand } from './publish-command.ts';

export interface DecideOptions {
  database: Database;
  kafka: KafkaSettings;
  accountId: number;
  kind: PairDecision['kind'];
  previousId: string;
  userId: string;
  reason: string;
  isDry: boolean;
  /** ms since the epoch */
  now: number;
}

export interface Decided {
  decision: PairDecision;
  moved: Moved[];
  /** Whether the two ids are one person afterwards. */
  isOnePerson: boolean;
  /** In identity.commands; undefined: a dry run. */
  offset: number | undefined;
  /** Whether identities-sink has applied it. */
  isApplied: boolean;
}

/** How long the command waits for identities-sink, ms. */
const APPLY_MS = 10_000;

/**
 * Publishes a decision about two ids, or only computes what it would change. The audit line names
 * the command by its time, never a distinct id.
 */
export async function decide(options: DecideOptions): Promise<Decided> {
  const { database, accountId, kind, previousId, userId, isDry, now } = options;
  const decidedAt = Math.max(now, (await latestDecision(options)) + 1);
  const decision: PairDecision = { kind, previousId, userId, decidedAt };
  const moved = await effectOf(postgresIdentities(database), accountId, decision);
  const then = new Map(moved.map(({ distinctId, to }) => [distinctId, to]));
  const personOf = async (distinctId: string) =>
    then.get(distinctId) ?? (await canonicalOf(options, distinctId));
  const isOnePerson = (await personOf(previousId)) === (await personOf(userId));
  if (isDry) return { decision, moved, isOnePerson, offset: undefined, isApplied: false };
  const offset = await asWriter({ database, command: 'person' }, () =>
    publishDecision(options, decision, moved.length),
  );
  return { decision, moved, isOnePerson, offset, isApplied: await isApplied(options, decision) };
}

async function publishDecision(
  { database, kafka, accountId, reason }: DecideOptions,
  { kind, previousId, userId, decidedAt }: PairDecision,
  moved: number,
): Promise<number> {
  await recordAudit(database, {
    ...{ accountId, actor: 'operator' },
    action: kind === 'keep_apart' ? 'person.split' : 'person.rejoined',
    details: {
      topic: TOPIC.identityCommands,
      requested_at: decidedAt,
      distinct_ids_moved: moved,
      ...(reason === '' ? {} : { reason }),
    },
  });
  return publishIdentityCommand(kafka, {
    ...{ account_id: accountId, command: kind, previous_id: previousId, user_id: userId },
    ...{ until: 0, requested_at: decidedAt },
  });
}

type Pair = Pick<DecideOptions, 'database' | 'accountId' | 'previousId' | 'userId'>;

/** Time of the latest decision about aliases of the two ids; -1 when there is none. */
async function latestDecision({ database, accountId, ...pair }: Pair): Promise<number> {
  const reversed = { previousId: pair.userId, userId: pair.previousId };
  const { undos, pairs } = await readDecisions(database, accountId, [pair, reversed]);
  return Math.max(-1, ...[...undos.values(), ...pairs.values()].map(({ decidedAt }) => decidedAt));
}

async function canonicalOf({ database, accountId }: Pair, distinctId: string): Promise<string> {
  const { rows } = await database.query<{ canonical: string }>(
    'SELECT canonical FROM identity_names WHERE account_id = $1 AND name = $2',
    [accountId, escapeText(distinctId)],
  );
  return unescapeText(rows[0]?.canonical ?? escapeText(distinctId));
}

async function isApplied(pair: Pair, decision: PairDecision): Promise<boolean> {
  const until = Date.now() + APPLY_MS;
  for (;;) {
    const { pairs } = await readDecisions(pair.database, pair.accountId, [pair]);
    if (pairs.get(pairKey(pairOf(decision)))?.decidedAt === decision.decidedAt) return true;
    if (Date.now() > until) return false;
    await delay(200);
  }
}
