import type { ClickHouseClient } from '@clickhouse/client';
import type { Redis } from 'ioredis';
import type { Admin } from 'kafkajs';
import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import { CURRENT_EPOCH } from '../../schemas/log-position.ts';
import { ClaimStore } from '../../platform/claims/claim-store.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { committedOffsets } from '../../platform/kafka/admin.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { LetterStore } from '../dlq/dead-letter-store.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { OperatorContext } from '../operator-context.ts';
import {
  placeKey,
  placeOf,
  type Asked,
  type Delivery,
  type Evidence,
  type RawSearch,
  type StoredRow,
} from './evidence.ts';
import { findRun, findVerdicts, readPlace, searchRaw } from './log-search.ts';
import { canonicalName, foldedPlace, storedRows } from './warehouse.ts';
import { CONSUMER_GROUPS, GROUP, TOPIC } from '../../schemas/topology.ts';

export interface Sources {
  surroundings: OperatorContext;
  database: Database;
  redis: Redis;
  clickhouse: ClickHouseClient;
  reader: RangeReader;
  /** Connects when it is first asked. */
  admin: () => Promise<Admin>;
}

export interface Question {
  messageId: string;
  accountId: number;
  /** Look through events.raw from here on, ms since the epoch. */
  since: number | undefined;
  now: number;
}

/** Longest wait for the answer of one part, ms; the log has bounds of its own for each search. */
const ASK_MS = 12_000;
const LOG_MS = 60_000;
/**
 * Around the first sight of an event resends are looked for: SDKs send again within minutes, ms.
 */
const BEFORE = 10 * 60_000;
const AFTER = 3_600_000;
/** Without a claim, a row and --since so much of the log is looked through, ms. */
const RECENT = 15 * 60_000;
const GROUPS = CONSUMER_GROUPS.filter(({ topic }) => topic === TOPIC.normalised).map(
  ({ group }) => group,
);

/**
 * Asks every part about the message, in an order in which each answer narrows the next question. A
 * part that is away is told as such; nothing rejects.
 */
export async function gather(sources: Sources, question: Question): Promise<Evidence> {
  const { messageId, accountId } = question;
  const { surroundings, database, clickhouse } = sources;
  const dedupeTtl = surroundings.settings.DEDUPE_TTL;
  const [retention, claim, spooled, rows, deliveries] = await Promise.all([
    ask('PostgreSQL', accountRetention(database, accountId)),
    ask('Redis', peek(sources, { messageId, accountId, dedupeTtl })),
    ask('the gateway', spooledEvents(surroundings, accountId)),
    ask('ClickHouse', storedRows(clickhouse, question)),
    ask('PostgreSQL', relayDeliveries(database, { messageId, accountId })),
  ]);
  const raw = await ask(
    'Kafka',
    rawSearch(sources, { question, rows, place: placeOf({ rows, claim, raw: UNKNOWN }) }),
    LOG_MS,
  );
  const place = placeOf({ rows, claim, raw });
  const sightings = raw.known ? raw.value.found : [];
  const sighting = sightings.find((one) => place && placeKey(one) === placeKey(place));
  const first = rows.known ? rows.value[0] : undefined;
  const name = first ? first.user_id || first.anonymous_id : sighting?.name;
  const looking = async () => ({
    admin: await sources.admin(),
    reader: sources.reader,
    epoch: CURRENT_EPOCH,
  });
  // One after another: the reader of the log takes one span at a time.
  const normalised = await ask(
    'Kafka',
    sighting ? looking().then((log) => findRun(log, sighting)) : Promise.resolve(undefined),
    LOG_MS,
  );
  const others = sightings.filter((one) => !place || placeKey(one) !== placeKey(place) || !first);
  const verdicts = await ask(
    'Kafka',
    others.length === 0
      ? Promise.resolve(new Map<string, never>())
      : looking().then((log) => findVerdicts(log, others)),
    LOG_MS,
  );
  const places = sightings.map(({ partition, offset, index }) => ({
    topic: TOPIC.raw,
    partition,
    offset,
    index,
  }));
  const [letters, progress, profile, canonical] = await Promise.all([
    ask('PostgreSQL', new LetterStore(database).ofEvent({ accountId, messageId, places })),
    ask(
      'Kafka',
      place
        ? standings(sources, place.partition)
        : Promise.resolve({ normaliser: undefined, groups: new Map<string, number | undefined>() }),
    ),
    ask(
      'ClickHouse',
      name === undefined
        ? Promise.resolve(undefined)
        : foldedPlace(clickhouse, { accountId, name }),
    ),
    ask(
      'ClickHouse',
      name === undefined
        ? Promise.resolve(undefined)
        : canonicalName(clickhouse, { accountId, name }),
    ),
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
    letters,
    normalised,
    progress,
    profile,
    canonical,
    deliveries,
  };
}

const UNKNOWN = { known: false, why: 'not asked yet' } as const;

async function ask<T>(part: string, work: Promise<T>, ms = ASK_MS): Promise<Asked<T>> {
  try {
    return { known: true, value: await withDeadline({ ms, waitingFor: part }, work) };
  } catch (error) {
    // The innermost message tells what happened; some clients put a sum of their attempts around
    // it.
    const why =
      error instanceof AggregateError
        ? (error.errors[0] as Error).message
        : error instanceof Error
          ? error.message
          : String(error);
    return { known: false, why: `${part} does not answer (${why})` };
  }
}

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

async function peek(
  { redis }: Sources,
  options: { messageId: string; accountId: number; dedupeTtl: number },
) {
  await redis.connect();
  const id = claimId(claimScope(options.accountId, 'message'), options.messageId);
  const [entry] = await new ClaimStore({ redis, dedupeTtl: options.dedupeTtl }).peek([id]);
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
 * The known place itself, however long ago, and a window around it; without a place all partitions
 * over the time that was asked for, or the last quarter of an hour.
 */
async function rawSearch(
  sources: Sources,
  {
    question,
    rows,
    place,
  }: { question: Question; rows: Asked<readonly StoredRow[]>; place: ReturnType<typeof placeOf> },
): Promise<RawSearch> {
  const { since, now } = question;
  const log = {
    admin: await sources.admin(),
    reader: sources.reader,
    epoch: CURRENT_EPOCH,
    wanted: question,
  };
  if (place === undefined || since !== undefined) {
    const search = await searchRaw({
      ...log,
      from: since ?? now - RECENT,
      to: undefined,
      partition: undefined,
    });
    return place === undefined ? search : merged(search, await readPlace(log, place));
  }
  const [own] = await readPlace(log, place);
  const seenAt = own?.appendedAt ?? (rows.known ? rows.value[0]?.received_at : undefined);
  if (seenAt === undefined)
    return {
      found: [],
      searched: `events.raw ${place.partition} at offset ${place.offset}, which is not kept any more`,
      complete: true,
    };
  const search = await searchRaw({
    ...log,
    from: seenAt - BEFORE,
    to: seenAt + AFTER < now ? seenAt + AFTER : undefined,
    partition: place.partition,
  });
  return own ? merged(search, [own]) : search;
}

function merged(search: RawSearch, more: RawSearch['found']): RawSearch {
  const found = [
    ...new Map([...search.found, ...more].map((one) => [placeKey(one), one])).values(),
  ];
  return {
    ...search,
    found: found.sort((a, b) => a.appendedAt - b.appendedAt || a.offset - b.offset),
  };
}

async function standings(sources: Sources, partition: number) {
  const admin = await sources.admin();
  const of = async (group: string, topic: string) =>
    (await committedOffsets(admin, group, topic)).get(partition);
  const groups = await Promise.all(
    GROUPS.map(async (group) => [group, await of(group, TOPIC.normalised)] as const),
  );
  return { normaliser: await of(GROUP.normaliser, TOPIC.raw), groups: new Map(groups) };
}
