import type { ClickHouseClient } from '@clickhouse/client';
import type { Channel } from '../../events/channels/channel-change.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { mergeProfiles, profileVariables, type StoredProfile } from './merge-profiles.ts';
import { columnsOfChannel, decideConsent } from './decide-consent.ts';
import { readFacts, readSuppressed, type RecipientFacts } from './read-facts.ts';
import { profileKey, readProfiles, type ProfileName } from './read-profiles.ts';
import { MAX_NAMES, type Resolved, type WantedRecipient } from './resolved.ts';
import { addressText, targetsOf } from './targets.ts';

export interface RecipientDeps {
  database: Pick<Database, 'query'>;
  clickhouse: Pick<ClickHouseClient, 'query'>;
}

interface ResolveOptions {
  signal: AbortSignal;
}

/** People of one statement. */
const BATCH = 500;
/** Distinct ids of one person whose profiles are merged. */
const MERGED_NAMES = 100;

/** The recipients of one account and channel, by personId; see resolveMany. */
export async function resolveRecipients(
  deps: RecipientDeps,
  of: {
    accountId: number;
    channel: Channel;
    people: readonly { personId: string; userId: string }[];
  },
  options: ResolveOptions,
): Promise<Map<string, Resolved>> {
  const { accountId, channel, people } = of;
  const wanted = people.map((person) => ({ ...person, accountId, channel }));
  const resolved = await resolveMany(deps, wanted, options);
  return new Map(
    people.flatMap(({ personId }, at) => {
      const one = resolved[at];
      return one ? [[personId, one] as const] : [];
    }),
  );
}

/**
 * What is known of recipients now, in the order of the question: two statements of PostgreSQL and
 * one of ClickHouse for each 500 people. Rejects when one of them does not answer.
 */
export async function resolveMany(
  deps: RecipientDeps,
  wanted: readonly WantedRecipient[],
  options: ResolveOptions,
): Promise<Resolved[]> {
  const resolved: Resolved[] = [];
  for (let from = 0; from < wanted.length; from += BATCH) {
    options.signal.throwIfAborted();
    resolved.push(...(await resolveBatch(deps, wanted.slice(from, from + BATCH), options)));
  }
  return resolved;
}

interface Known {
  wanted: WantedRecipient;
  facts: RecipientFacts;
}

async function resolveBatch(
  { database, clickhouse }: RecipientDeps,
  wanted: readonly WantedRecipient[],
  { signal }: ResolveOptions,
): Promise<Resolved[]> {
  const facts = await readFacts(database, wanted);
  const known = wanted.flatMap((one, at): Known[] => {
    const own = facts[at];
    return own ? [{ wanted: one, facts: own }] : [];
  });
  const stored = await readProfiles({
    ...{ client: clickhouse, read: readOf(wanted), signal },
    names: profileNames(known),
  });
  const reached = known.map((one) => withTargets(one, profileOf(one, stored)));
  const suppressed = await suppressedOf(database, reached);
  return reached.map(({ wanted: one, facts: own, profile, ...target }, at) => ({
    ...{ canonical: own.canonical, identityRevision: own.identityRevision },
    names: own.names.slice(0, MAX_NAMES),
    ...{ ...target, suppressed: suppressed[at] ?? false },
    ...decideConsent({ channel: one.channel, facts: own, columns: profile?.columns ?? {} }),
    profile: profileVariables(profile),
  }));
}

/** What messages to any of them name, and what says where they go. Undefined: everything. */
function readOf(wanted: readonly WantedRecipient[]): string[] | undefined {
  const lists = new Set(wanted.map(({ variables }) => variables));
  const channels = new Set(wanted.map(({ channel }) => channel));
  const names = new Set<string>([...channels].flatMap(columnsOfChannel));
  for (const list of lists) {
    if (!list) return undefined;
    for (const name of list) names.add(name);
  }
  return [...names];
}

/** Each name once, whoever's it is in the batch. */
function profileNames(known: readonly Known[]): ProfileName[] {
  const names = new Map<string, ProfileName>();
  for (const { wanted, facts } of known) {
    const merged = facts.names.slice(0, MERGED_NAMES);
    for (const name of merged) {
      const one = { accountId: wanted.accountId, name, isMerged: merged.length > 1 };
      names.set(profileKey(one), one);
    }
  }
  return [...names.values()];
}

function profileOf(
  { wanted: { accountId }, facts }: Known,
  stored: ReadonlyMap<string, StoredProfile>,
): StoredProfile | undefined {
  const own = facts.names.flatMap((name) => stored.get(profileKey({ accountId, name })) ?? []);
  return mergeProfiles(own);
}

function withTargets(known: Known, profile: StoredProfile | undefined) {
  const { wanted, facts } = known;
  const { email = '', phone = '' } = profile?.columns ?? {};
  const { accountId, channel, userId } = wanted;
  const targets = targetsOf({
    ...{ accountId, channel, userId, email, phone },
    addresses: facts.addresses,
  });
  const [first] = targets;
  return { ...known, profile, targets, address: first ? addressText(first) : '' };
}

/** Only e-mail addresses and phone numbers are ever suppressed; other addresses end. */
async function suppressedOf(
  database: Pick<Database, 'query'>,
  reached: readonly { wanted: WantedRecipient; address: string }[],
): Promise<boolean[]> {
  const asked = reached.flatMap(({ wanted: { accountId, channel }, address }, at) =>
    address !== '' && (channel === 'email' || channel === 'sms')
      ? [{ at, accountId, channel, address }]
      : [],
  );
  const answers = await readSuppressed(database, asked);
  const suppressed = reached.map(() => false);
  for (const [index, { at }] of asked.entries()) suppressed[at] = answers[index] ?? false;
  return suppressed;
}
