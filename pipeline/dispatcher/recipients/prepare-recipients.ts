import type { Channel } from '../../../events/channels/channel-change.ts';
import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import {
  WITHHELD_REASON,
  type FailureReason,
  type SkipReason,
} from '../../../events/messages/reasons.ts';
import { reserveCaps } from '../../../messaging/caps/reserve-caps.ts';
import type { DeliveryTools } from '../../../messaging/delivery/connect-delivery.ts';
import { decideSend } from '../../../messaging/delivery/decide-send.ts';
import type { UtmParameters } from '../../../messaging/delivery/prepare-messages.ts';
import { MAX_CONSENT_LAG_MS, type ConsentLag } from '../../../messaging/recipients/consent-lag.ts';
import type { Resolved, WantedRecipient } from '../../../messaging/recipients/resolved.ts';
import type { OpenSender } from '../../../messaging/senders/senders.ts';
import type { FrequencyCap } from '../../../messaging/settings/settings.ts';
import type { ReadMessageSettings } from '../../../messaging/settings/settings-store.ts';
import { namedVariables } from '../../../messaging/templates/named-variables.ts';
import type { TemplateVersion } from '../../../messaging/templates/template.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import type { ChunkRecipient } from '../../../schemas/records.ts';
import type { Decision, RecipientOutcome } from '../worker/ports.ts';
import { decideMerged } from './merged-people.ts';

export interface PreparePorts {
  database: Pick<Database, 'query'>;
  /** In the order of the question; rejects when a store does not answer. */
  resolve: (wanted: readonly WantedRecipient[]) => Promise<Resolved[]>;
  delivery: Pick<DeliveryTools, 'prepare' | 'reports'>;
  readSettings: ReadMessageSettings;
  consentLag: Pick<ConsentLag, 'read'>;
  /** So many recipients wait because nobody knows who has unsubscribed recently. */
  consentsWaitedFor: (recipients: number) => void;
  /** ms since the epoch */
  now: () => number;
}

/** What all recipients of a chunk have in common. */
export interface ChunkFacts {
  accountId: number;
  campaignId: number;
  runId: number;
  channel: Channel;
  templateId: number;
  templateVersion: number;
  /** Undefined: the account has no such template of the channel. */
  template: TemplateVersion | undefined;
  category: 'marketing' | 'service';
  utm: UtmParameters;
  /** Of the account's identities when the audience was frozen. */
  identityRevision: number;
  /** Of the run, ms since the epoch: a template that hangs until then has failed. */
  deadlineAt: number;
}

interface RecipientsToPrepare extends ChunkFacts {
  /** Undefined: the channel is not configured. */
  sender: OpenSender | undefined;
  recipients: readonly ChunkRecipient[];
}

const CONSENT_PAUSE_MS = 5000;
/** A message is of no use a day later, ms. */
const EXPIRES_MS = 86_400_000;

const WITHHELD: Decision = {
  ...{ kind: 'finish', status: 'withheld', reason: WITHHELD_REASON, addressHash: '' },
};

/** A recipient until it is decided. */
interface Candidate {
  recipient: ChunkRecipient;
  messageId: string;
  resolved: Resolved | undefined;
  decision: Decision | undefined;
}
type Known = Candidate & { resolved: Resolved };
type Sending = RecipientsToPrepare & { template: TemplateVersion; sender: OpenSender };

/**
 * Decides what becomes of recipients of one chunk now, in their order, and renders the messages of
 * those who get one. Rejects when something does not answer: it can be done again.
 */
export async function prepareRecipients(
  ports: PreparePorts,
  of: RecipientsToPrepare,
): Promise<Decision[]> {
  const { campaignId, runId, template, sender } = of;
  const candidates = of.recipients.map((recipient): Candidate => ({
    recipient,
    messageId: campaignMessageId({ campaignId, runId, key: recipient.key }),
    resolved: undefined,
    decision: recipient.is_control ? WITHHELD : undefined,
  }));
  const open = undecided(candidates);
  if (template && sender) {
    if (open.length > 0) await decideOpen(ports, { ...of, template, sender }, open);
  } else
    for (const one of open)
      one.decision = skip(template ? 'channel_not_configured' : 'unknown_template');
  return candidates.map(({ decision }) => {
    if (!decision) throw new Error('a recipient was not decided');
    return decision;
  });
}

function undecided<One extends Candidate>(candidates: readonly One[]): One[] {
  return candidates.filter(({ decision }) => !decision);
}

async function decideOpen(
  ports: PreparePorts,
  of: Sending,
  candidates: readonly Candidate[],
): Promise<void> {
  const { accountId, channel, category } = of;
  const isMarketing = category === 'marketing';
  if (isMarketing && (await ports.consentLag.read()) > MAX_CONSENT_LAG_MS) {
    const until = ports.now() + CONSENT_PAUSE_MS;
    for (const one of candidates) one.decision = { kind: 'wait', until };
    ports.consentsWaitedFor(candidates.length);
    return;
  }
  const resolvedAt = ports.now();
  const [settings, known] = await Promise.all([
    ports.readSettings(accountId),
    lookUp(ports, of, candidates),
  ]);
  const now = ports.now();
  for (const one of known) {
    const decision = decideSend(one.resolved, { category, settings, now });
    if (decision.kind === 'skip') one.decision = skip(decision.reason);
    else if (decision.kind === 'wait') one.decision = decision;
  }
  await decideAboutMerges(ports, of, undecided(known));
  const cap = isMarketing ? settings.frequencyCaps[channel] : undefined;
  if (cap) await reserve(ports, { of, cap, now }, undecided(known));
  await render(ports, { of, isCapped: cap !== undefined, resolvedAt }, undecided(known));
}

async function lookUp(
  { resolve }: PreparePorts,
  { accountId, channel, template }: Sending,
  candidates: readonly Candidate[],
): Promise<Known[]> {
  const variables = namedVariables(template.content);
  const resolved = await resolve(
    candidates.map(({ recipient: { person_id: personId, user_id: userId } }) => ({
      ...{ accountId, channel, personId, userId, variables },
    })),
  );
  return candidates.map((candidate, at) => {
    const one = resolved[at];
    if (!one) throw new Error('a recipient was not looked up');
    return Object.assign(candidate, { resolved: one });
  });
}

async function decideAboutMerges(
  { database, now }: PreparePorts,
  { runId, identityRevision }: Sending,
  known: readonly Known[],
): Promise<void> {
  const changed = known.filter(({ resolved }) => resolved.identityRevision > identityRevision);
  if (changed.length === 0) return;
  const decided = await decideMerged(
    database,
    runId,
    changed.map(({ recipient: { key }, resolved: { canonical, names } }) => ({
      ...{ key, person: personKey(canonical), others: names.map(personKey) },
    })),
  );
  for (const [at, one] of changed.entries()) {
    const merge = decided[at];
    if (merge?.kind === 'other_sends') one.decision = skip('merged');
    else if (merge?.kind === 'later') one.decision = { kind: 'wait', until: now() + merge.afterMs };
  }
}

async function reserve(
  { database }: PreparePorts,
  { of: { accountId, channel }, cap, now }: { of: Sending; cap: FrequencyCap; now: number },
  known: readonly Known[],
): Promise<void> {
  const messages = known.map(({ messageId, resolved }) => ({
    ...{ messageId, person: personKey(resolved.canonical) },
  }));
  if (messages.length === 0) return;
  const reserved = await reserveCaps(database, { accountId, channel, cap, now }, messages);
  for (const one of known) if (!reserved.has(one.messageId)) one.decision = skip('frequency_cap');
}

async function render(
  { delivery, now }: PreparePorts,
  { of, isCapped, resolvedAt }: { of: Sending; isCapped: boolean; resolvedAt: number },
  known: readonly Known[],
): Promise<void> {
  if (known.length === 0) return;
  const { campaignId, template, sender, category, utm } = of;
  const prepared = await delivery.prepare({
    ...{ template, category, campaignId, utm, provider: sender.provider.name },
    expiresAt: now() + EXPIRES_MS,
    messages: known.map(({ messageId, recipient, resolved }) => ({
      ...{ messageId, userId: recipient.user_id, resolved, vars: {}, event: {} },
    })),
  });
  for (const [at, one] of known.entries()) {
    const ready = prepared[at];
    if (!ready) throw new Error('a message was not prepared');
    const capOf = isCapped ? personKey(one.resolved.canonical) : '';
    if (ready.kind === 'ready') {
      const { messages, addressHash, missing } = ready;
      if (missing.length > 0) delivery.reports.missing(template, missing);
      const userId = one.recipient.user_id;
      one.decision = {
        kind: 'send',
        message: { messages, userId, resolvedAt, addressHash, capOf },
      };
      continue;
    }
    const { kind } = ready;
    const decision = kind === 'later' ? renderLater(now() + ready.afterMs, of) : finish(ready);
    one.decision = { ...decision, capOf };
  }
}

type NotSent = Exclude<Decision, { kind: 'send' }>;

function renderLater(until: number, { deadlineAt }: Pick<ChunkFacts, 'deadlineAt'>): NotSent {
  if (until <= deadlineAt) return { kind: 'wait', until };
  return finish({ status: 'failed', reason: 'render_failed' satisfies FailureReason });
}

function finish({ status, reason }: Pick<RecipientOutcome, 'status' | 'reason'>): NotSent {
  return { kind: 'finish', status, reason, addressHash: '' };
}

function skip(reason: SkipReason): NotSent {
  return finish({ status: 'skipped', reason });
}
