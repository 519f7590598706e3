import { CONSUMER_GROUPS, GROUP, TOPIC } from '../../schemas/topology.ts';
import type { ClickHouseClient } from '@clickhouse/client';
import type { Redis } from 'ioredis';
import type { Admin } from 'kafkajs';
import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import { ClaimStore } from '../../platform/claims/claim-store.ts';
import { committedOffsets } from '../../platform/kafka/admin.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { DeadLetterStore } from '../dlq/dead-letter-store.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { OperatorContext } from '../operator-context.ts';
import { attempt } from './attempt.ts';
import {
  distinctIdOf,
  positionKey,
  positionOf,
  previousIdOf,
  type Fact,
  type Delivery,
  type Evidence,
  type Identities,
  type RawSearch,
  type StoredRow,
} from './evidence.ts';
import {
  BESIDE,
  findRowBatch,
  findVerdicts,
  readPosition,
  RECENT,
  RECENT_MS,
  searchRaw,
  SINCE,
} from './log-search.ts';
import { canonicalIds, foldedPosition, storedRows } from './warehouse.ts';

export interface Sources {
  operator: OperatorContext;
  database: Database;
  /** Connects on first use. */
  redis: () => Promise<Redis>;
  clickhouse: ClickHouseClient;
  reader: RangeReader;
  /** Connects on first use. */
  admin: () => Promise<Admin>;
}

export interface Question {
  messageId: string;
  accountId: number;
  /** Search events.raw from this time on, ms since the epoch. */
  since: number | undefined;
  now: number;
}

const LOG_MS = 60_000;
/** Resends are searched around the first occurrence, ms: SDKs retry within minutes. */
const SEARCH_BEFORE_MS = 10 * 60_000;
const SEARCH_AFTER_MS = 3_600_000;
const GROUPS = CONSUMER_GROUPS.filter(({ topic }) => topic === TOPIC.normalised).map(
  ({ group }) => group,
);

/**
 * Asks every server about the message, in an order in which each answer narrows the next query. An
 * unavailable server is recorded as such; nothing rejects.
 */
export async function gather(sources: Sources, question: Question): Promise<Evidence> {
  const { messageId, accountId } = question;
  const { operator, database, clickhouse } = sources;
  const dedupeTtl = operator.settings.DEDUPE_TTL;
  const [retention, claim, spooled, rows, deliveries] = await Promise.all([
    attempt('PostgreSQL', accountRetention(database, accountId)),
    attempt('Redis', fetchClaim(sources, { messageId, accountId, dedupeTtl })),
    attempt('the gateway', spooledEvents(operator, accountId)),
    attempt('ClickHouse', storedRows(clickhouse, question)),
    attempt('PostgreSQL', relayDeliveries(database, { messageId, accountId })),
  ]);
  const raw = await attempt(
    'Kafka',
    rawSearch(sources, { question, rows, position: positionOf({ rows, claim, raw: UNKNOWN }) }),
    LOG_MS,
  );
  const position = positionOf({ rows, claim, raw });
  const occurrences = raw.known ? raw.value.found : [];
  const occurrence = occurrences.find(
    (one) => position && positionKey(one) === positionKey(position),
  );
  const first = rows.known ? rows.value[0] : undefined;
  const distinctId = distinctIdOf(first, occurrence);
  const previousId = previousIdOf(first, occurrence);
  const logSearch = async () => ({
    admin: await sources.admin(),
    reader: sources.reader,
    epochs: await readEpochs(sources.database, TOPIC.raw),
  });
  // Sequential: the range reader handles one range at a time.
  const normalised = await attempt(
    'Kafka',
    occurrence
      ? logSearch().then((log) => findRowBatch(log, occurrence))
      : Promise.resolve(undefined),
    LOG_MS,
  );
  const others = occurrences.filter(
    (one) => !position || positionKey(one) !== positionKey(position) || !first,
  );
  const verdicts = await attempt(
    'Kafka',
    others.length === 0
      ? Promise.resolve(new Map<string, never>())
      : logSearch().then((log) => findVerdicts(log, others)),
    LOG_MS,
  );
  const positions = occurrences.map(({ partition, offset, index }) => ({
    topic: TOPIC.raw,
    partition,
    offset,
    index,
  }));
  const [deadLetters, progress, profile, identities] = await Promise.all([
    attempt(
      'PostgreSQL',
      new DeadLetterStore(database).ofEvent({ accountId, messageId, positions }),
    ),
    attempt(
      'Kafka',
      position
        ? fetchProgress(sources, position.partition)
        : Promise.resolve({ normaliser: undefined, groups: new Map<string, number | undefined>() }),
    ),
    attempt(
      'ClickHouse',
      distinctId === undefined
        ? Promise.resolve(undefined)
        : foldedPosition(clickhouse, { accountId, distinctId }),
    ),
    distinctId === undefined
      ? ({ known: true, value: { canonical: new Map<string, string>(), others: 0 } } as const)
      : identitiesOf(sources, { accountId, distinctId, previousId }),
  ]);
  const { now } = question;
  return {
    messageId,
    accountId,
    now,
    retention,
    claim,
    spooled,
    rows,
    raw,
    verdicts,
    deadLetters,
    normalised,
    progress,
    profile,
    identities,
    deliveries,
  };
}

const UNKNOWN = { known: false, why: 'not fetched yet' } as const;

/** Whose the ids are, as reports see it, and how many more ids the person has. */
async function identitiesOf(
  { clickhouse, database }: Sources,
  ids: { accountId: number; distinctId: string; previousId: string | undefined },
): Promise<Fact<Identities>> {
  const { accountId, distinctId, previousId } = ids;
  const distinctIds = previousId === undefined ? [distinctId] : [distinctId, previousId];
  const canonical = await attempt(
    'ClickHouse',
    canonicalIds(clickhouse, { accountId, distinctIds }),
  );
  if (!canonical.known) return canonical;
  const person = canonical.value.get(distinctId);
  if (person === undefined)
    return { known: true, value: { canonical: canonical.value, others: 0 } };
  const names = await attempt('PostgreSQL', database.query(NAMES, [accountId, escapeText(person)]));
  if (!names.known) return names;
  const others = Math.max(0, names.value.rows.length - 1);
  return { known: true, value: { canonical: canonical.value, others } };
}

const NAMES = 'SELECT FROM identity_names WHERE account_id = $1 AND canonical = $2 LIMIT 101';

async function accountRetention(
  database: Database,
  accountId: number,
): Promise<number | undefined> {
  const { rows } = await database.query<{ retention_days: number }>(
    'SELECT retention_days FROM accounts WHERE id = $1',
    [accountId],
  );
  return rows[0]?.retention_days;
}

async function fetchClaim(
  { redis }: Sources,
  options: { messageId: string; accountId: number; dedupeTtl: number },
) {
  const id = claimId(claimScope(options.accountId, 'message'), options.messageId);
  const [entry] = await new ClaimStore({
    redis: await redis(),
    dedupeTtl: options.dedupeTtl,
  }).peek([id]);
  return entry ?? undefined;
}

async function spooledEvents({ adminUrls }: OperatorContext, accountId: number): Promise<number> {
  const url = adminUrls.get('ingest-gateway');
  if (url === undefined)
    throw new Error('its admin address is not known outside the stack of one machine');
  const response = await fetch(`${url}/spool?account=${accountId}`, {
    signal: AbortSignal.timeout(3000),
  });
  return ((await response.json()) as { events: number }).events;
}

async function relayDeliveries(
  database: Database,
  options: { messageId: string; accountId: number },
): Promise<Delivery[] | undefined> {
  const { rows: there } = await database.query<{ there: boolean }>(
    `SELECT to_regclass('relay_deliveries') IS NOT NULL AS there`,
  );
  if (there[0]?.there !== true) return undefined;
  const { rows } = await database.query<Delivery>(
    `SELECT r.name AS relay, d.status, d.attempts, d.response_status, d.error, extract(epoch FROM d.created_at)::float8 * 1000 AS created_at
     FROM relay_deliveries d JOIN relays r ON r.id = d.relay_id WHERE r.account_id = $1 AND d.message_id = $2 ORDER BY d.id LIMIT 20`,
    [options.accountId, options.messageId],
  );
  return rows;
}

/**
 * Searches the known position itself, however old, and a window around it; without one, all
 * partitions over the requested time, or over the last 15 minutes.
 */
async function rawSearch(
  sources: Sources,
  {
    question,
    rows,
    position,
  }: {
    question: Question;
    rows: Fact<readonly StoredRow[]>;
    position: ReturnType<typeof positionOf>;
  },
): Promise<RawSearch> {
  const { since, now } = question;
  const log = {
    admin: await sources.admin(),
    reader: sources.reader,
    epochs: await readEpochs(sources.database, TOPIC.raw),
    wanted: question,
  };
  if (position === undefined || since !== undefined) {
    const search = await searchRaw({
      ...log,
      from: since ?? now - RECENT_MS,
      to: undefined,
      partition: undefined,
      budget: since === undefined ? RECENT : SINCE,
    });
    return position === undefined ? search : merged(search, await readPosition(log, position));
  }
  const [own] = await readPosition(log, position);
  const seenAt = own?.appendedAt ?? (rows.known ? rows.value[0]?.received_at : undefined);
  if (seenAt === undefined)
    return {
      found: [],
      searched: `events.raw ${position.partition} at offset ${position.offset}, which is no longer retained`,
      complete: true,
    };
  const search = await searchRaw({
    ...log,
    from: seenAt - SEARCH_BEFORE_MS,
    to: seenAt + SEARCH_AFTER_MS < now ? seenAt + SEARCH_AFTER_MS : undefined,
    partition: position.partition,
    budget: BESIDE,
  });
  return own ? merged(search, [own]) : search;
}

function merged(search: RawSearch, more: RawSearch['found']): RawSearch {
  const found = [
    ...new Map([...search.found, ...more].map((one) => [positionKey(one), one])).values(),
  ];
  return {
    ...search,
    found: found.sort((a, b) => a.appendedAt - b.appendedAt || a.offset - b.offset),
  };
}

async function fetchProgress(sources: Sources, partition: number) {
  const admin = await sources.admin();
  const of = async (group: string, topic: string) =>
    (await committedOffsets(admin, group, topic)).get(partition);
  const groups = await Promise.all(
    GROUPS.map(async (group) => [group, await of(group, TOPIC.normalised)] as const),
  );
  return { normaliser: await of(GROUP.normaliser, TOPIC.raw), groups: new Map(groups) };
}
