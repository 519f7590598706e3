import type { ClickHouseClient } from '@clickhouse/client';
import type { parseMessageId } from '../../../events/messages/message-id.ts';
import { readRuns } from '../../../account-api/campaigns/stats/runs.ts';
import { parseSettingTexts } from '../../../messaging/settings/setting-texts.ts';
import { readSettingTexts } from '../../../messaging/settings/settings-store.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { attempt } from '../attempt.ts';
import type { Fact } from '../evidence.ts';
import {
  accountOf,
  outcomeOf,
  type MessageEvidence,
  type QueuedRecipient,
  type SenderPhase,
} from './facts.ts';
import { readOpens, readOutbox, readReservation, readSender } from './read-ledger.ts';
import { readQueued, readRun } from './read-run.ts';
import { readConversion, readEvents, readFrozen, readStored } from './read-warehouse.ts';

interface ObstacleSources {
  /** How far what is known of consents is behind, ms. */
  consentLag: () => Promise<number>;
  /** Undefined: no dispatcher of this machine sends the channel at the moment. */
  senderPhase: (accountId: number, channel: string) => Promise<SenderPhase | undefined>;
}

export interface MessageSources {
  database: Pick<Database, 'query'>;
  clickhouse: ClickHouseClient;
  /** What a message waits for is not asked without them. */
  obstacles?: ObstacleSources;
}

type Id = NonNullable<ReturnType<typeof parseMessageId>>;
type Planned = Pick<MessageEvidence, 'run' | 'queued' | 'frozen' | 'reservation'>;

const UNASKED = { known: true, value: undefined } as const;
const UNKNOWN_ACCOUNT = { known: false, why: 'the account of the message is not known' } as const;

/**
 * Asks every server about a message, each by keys, so that the answer costs the same however large
 * the campaign is. An unavailable server is recorded as such; nothing rejects.
 */
export async function gatherMessage(
  sources: MessageSources,
  {
    messageId,
    id,
    now,
    ...asked
  }: {
    messageId: string;
    id: Id;
    now: number;
    /** Whose message it is, where PostgreSQL does not say it. */
    accountId?: number | undefined;
  },
): Promise<MessageEvidence> {
  const planned = await readPlanned(sources, id);
  const accountId =
    accountOf({ id, run: planned.run }) ?? (planned.run.known ? undefined : asked.accountId);
  const known = { ...planned, messageId, id, now };
  if (accountId === undefined) {
    const outbox = planned.run.known ? UNASKED : UNKNOWN_ACCOUNT;
    return { ...known, outbox, stored: outbox, ...NOTHING_LATER };
  }
  const { database, clickhouse } = sources;
  const campaign = id.kind === 'campaign' ? id : { campaignId: 0, runId: 0 };
  const key = { accountId, messageId, campaignId: campaign.campaignId, runId: campaign.runId };
  const [outbox, stored] = await Promise.all([
    attempt('PostgreSQL', readOutbox(database, key)),
    attempt('ClickHouse', readStored(clickhouse, key)),
  ]);
  const found = { ...known, outbox, stored };
  const outcome = outcomeOf(found);
  const later = outcome ? await readEffects(sources, found, key) : NOTHING_LATER;
  return { ...found, ...later, ...(outcome ? {} : await readObstacles(sources, found)) };
}

const NOTHING_LATER: Omit<MessageEvidence, keyof Found> = {
  ...{ sender: UNASKED, settings: UNASKED, phase: UNASKED, consentLag: UNASKED },
  ...{ events: { known: true, value: [] }, opens: UNASKED, conversion: UNASKED },
};

async function readPlanned({ database, clickhouse }: MessageSources, id: Id): Promise<Planned> {
  if (id.kind === 'transactional') {
    const reservation = await attempt('PostgreSQL', readReservation(database, id));
    return { run: UNASKED, queued: UNASKED, frozen: UNASKED, reservation };
  }
  const { runId, key } = id;
  const [run, queued] = await Promise.all([
    attempt('PostgreSQL', readRun(database, id)),
    attempt('PostgreSQL', readQueued(database, { runId, key })),
  ]);
  const { accountId, freezeAttempt, frozenAt } = (run.known ? run.value : undefined) ?? {};
  const frozen =
    accountId === undefined || frozenAt === undefined
      ? UNASKED
      : await attempt(
          'ClickHouse',
          readFrozen(clickhouse, { accountId, runId, key, attempt: freezeAttempt ?? 0 }),
        );
  return { run, queued, frozen, reservation: UNASKED };
}

type Found = Planned & Pick<MessageEvidence, 'messageId' | 'id' | 'now' | 'outbox' | 'stored'>;

/** What followed the outcome. */
async function readEffects(
  { database, clickhouse }: MessageSources,
  evidence: Found,
  key: { accountId: number; campaignId: number; runId: number; messageId: string },
): Promise<Omit<MessageEvidence, keyof Found>> {
  const { accountId, messageId, campaignId } = key;
  const { now } = evidence;
  const outcome = outcomeOf(evidence);
  const distinctIds = [outcome?.user_id ?? '', outcome?.person_id ?? ''].filter(Boolean);
  const from = outcome?.planned_at ?? 0;
  const goal = evidence.run.known ? evidence.run.value?.goal : undefined;
  const conversion = async () => {
    const runs = await readRuns(database, { accountId, campaignId, now });
    return await readConversion(clickhouse, { key, runs, now });
  };
  const [events, opens, converted] = await Promise.all([
    attempt('ClickHouse', readEvents(clickhouse, { accountId, messageId, distinctIds, from })),
    attempt('PostgreSQL', readOpens(database, { accountId, messageId })),
    goal && outcome?.status === 'sent' ? attempt('a server', conversion()) : UNASKED,
  ]);
  return { ...NOTHING_LATER, events, opens, conversion: converted };
}

/** What a message without an outcome may wait for. */
async function readObstacles(
  { database, obstacles }: MessageSources,
  { run, queued }: Found,
): Promise<Pick<MessageEvidence, 'sender' | 'settings' | 'phase' | 'consentLag'>> {
  const of = run.known ? run.value : undefined;
  if (!of || !obstacles || !isDispatched(queued)) return NOTHING_LATER;
  const { consentLag, senderPhase } = obstacles;
  const { accountId, channel, category } = of;
  const [sender, settings, phase, lag] = await Promise.all([
    attempt('PostgreSQL', readSender(database, { accountId, channel })),
    attempt('PostgreSQL', readSettingTexts(database, accountId).then(parseSettingTexts)),
    attempt('the dispatcher', senderPhase(accountId, channel)),
    category === 'marketing' ? attempt('Kafka', consentLag()) : UNASKED,
  ]);
  return { sender, settings, phase, consentLag: lag };
}

function isDispatched(queued: Fact<QueuedRecipient | undefined>): boolean {
  return queued.known && queued.value !== undefined && queued.value.state !== 'finished';
}
