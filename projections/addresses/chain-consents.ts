import { CHAIN_START, chainHash } from '../../events/channels/consent-chain.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { PlacedCommand } from './registers.ts';
import { LIVE_SCHEMA, type ChainedConsent } from './write-batch.ts';

type Queries = Pick<Database, 'query'>;

const last = (
  schema: string,
) => `SELECT DISTINCT ON (account_id, user_id) account_id, user_id, number, hash
  FROM ${schema}.consent_log JOIN unnest($1::bigint[], $2::text[]) AS wanted (account_id, user_id) USING (account_id, user_id)
  ORDER BY account_id, user_id, number DESC`;

interface Last {
  number: number;
  hash: Buffer;
}

const chained = (
  schema: string,
) => `SELECT account_id, user_id, gateway, sequence, received_at, channel
  FROM ${schema}.consent_log JOIN unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
    AS wanted (account_id, user_id, gateway, sequence, received_at, channel)
  USING (account_id, user_id, gateway, sequence, received_at, channel)`;

/**
 * The entries of the log of consents that changes become, each after the last one of its user. A
 * command that a gateway published twice becomes one.
 */
export async function chainConsents(
  database: Queries,
  changes: readonly PlacedCommand[],
  schema = LIVE_SCHEMA,
): Promise<ChainedConsent[]> {
  if (changes.length === 0) return [];
  const known = await lastEntries(database, changes, schema);
  const seen = await chainedChanges(database, changes, schema);
  return changes.flatMap((command) => {
    const { account_id: accountId, user_id: userId, consent } = command;
    const identity = changeKey(command);
    if (!consent || seen.has(identity)) return [];
    seen.add(identity);
    const key = ownerKey(accountId, userId);
    const before = known.get(key) ?? { number: -1, hash: CHAIN_START };
    const entry = {
      ...{ channel: command.channel, state: consent.state, source: command.source },
      ...{ textVersion: consent.text_version, ip: consent.ip, userAgent: consent.user_agent },
      receivedAt: command.received_at,
    };
    const owner = { accountId, userId };
    const next = { number: before.number + 1, hash: chainHash(before.hash, owner, entry) };
    known.set(key, next);
    const { gateway, sequence, log_epoch, log_partition, log_offset } = command;
    const place = { log_epoch, log_partition, log_offset };
    return [{ ...owner, ...entry, ...next, gateway, sequence, ...place }];
  });
}

async function lastEntries(
  database: Queries,
  changes: readonly PlacedCommand[],
  schema: string,
): Promise<Map<string, Last>> {
  const owners = new Map(
    changes.map(({ account_id, user_id }) => [
      ownerKey(account_id, user_id),
      { account_id, user_id },
    ]),
  );
  const { rows } = await database.query<{ account_id: string; user_id: string } & Last>(
    last(schema),
    [
      [...owners.values()].map(({ account_id }) => account_id),
      [...owners.values()].map(({ user_id }) => escapeText(user_id)),
    ],
  );
  return new Map(
    rows.map(({ account_id, user_id, number, hash }) => [
      ownerKey(Number(account_id), unescapeText(user_id)),
      { number, hash },
    ]),
  );
}

type ChangeIdentity = Pick<
  PlacedCommand,
  'account_id' | 'user_id' | 'gateway' | 'sequence' | 'received_at' | 'channel'
>;

function changeKey(command: ChangeIdentity): string {
  const { account_id, user_id, gateway, sequence, received_at, channel } = command;
  return JSON.stringify([account_id, user_id, gateway, sequence, received_at, channel]);
}

/** Those of the changes that are in the log of consents. */
async function chainedChanges(
  database: Queries,
  changes: readonly PlacedCommand[],
  schema: string,
): Promise<Set<string>> {
  const { rows } = await database.query<Record<keyof ChangeIdentity, string>>(chained(schema), [
    changes.map(({ account_id }) => account_id),
    changes.map(({ user_id }) => escapeText(user_id)),
    changes.map(({ gateway }) => gateway),
    changes.map(({ sequence }) => sequence),
    changes.map(({ received_at }) => received_at),
    changes.map(({ channel }) => channel),
  ]);
  return new Set(
    rows.map(({ account_id, user_id, gateway, sequence, received_at, channel }) =>
      changeKey({
        ...{ account_id: Number(account_id), user_id: unescapeText(user_id), gateway, channel },
        ...{ sequence: Number(sequence), received_at: Number(received_at) },
      }),
    ),
  );
}

function ownerKey(accountId: number, userId: string): string {
  return `${accountId} ${userId}`;
}
