import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { clickhouseSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { parseMessageId } from '../../events/messages/message-id.ts';
import { FAILURE_REASONS, SKIP_REASONS } from '../../events/messages/reasons.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { unknownMessage } from '../why/message/explain-message.ts';
import { accountOf, outcomeOf, type MessageEvidence } from '../why/message/facts.ts';
import { gatherMessage } from '../why/message/gather-message.ts';
import { adminCommand, idOption } from './command.ts';

/** `./ravand admin message show`: the outcome of a message and its attempts, as far as known. */
export const messageShow = adminCommand({
  name: 'message show',
  usage: 'message show --account ID --id MESSAGE_ID',
  options: { account: REQUIRED, id: REQUIRED },
  async run({ values }, { database, env }) {
    const accountId = idOption(values, 'account');
    const id = parseMessageId(values.id);
    if (!id)
      throw new CommandError(
        `--id ${values.id}: expected the id of a message, like c7.12.9f86d081884c7d659a2feaa0c55ad015 or t1.order-1234`,
      );
    const clickhouse = connectClickhouse({
      settings: parseSettings(clickhouseSettings, env),
      ...{ name: 'ravand-admin', requestTimeout: 12_000 },
    });
    try {
      const question = { messageId: values.id, id, now: Date.now(), accountId };
      return shownMessage(await gatherMessage({ database, clickhouse }, question), accountId);
    } finally {
      await clickhouse.close();
    }
  },
});

/** Throws CommandError when the account has no such message. */
export function shownMessage(
  evidence: MessageEvidence,
  accountId: number,
): Record<string, unknown> {
  const { messageId, id, run, queued, reservation, frozen } = evidence;
  const unknown = unknownMessage(evidence);
  if (unknown !== undefined) throw new CommandError(unknown);
  if ((accountOf(evidence) ?? accountId) !== accountId)
    throw new CommandError(`account ${accountId} has no message ${messageId}`);
  const outcome = outcomeOf(evidence);
  const of = run.known ? run.value : undefined;
  const at = queued.known ? queued.value : undefined;
  const reserved = reservation.known ? reservation.value : undefined;
  const person = at ?? (frozen.known ? frozen.value : undefined);
  const unread = [evidence.run, queued, reservation, frozen, evidence.outbox, evidence.stored]
    .flatMap((fact) => (fact.known ? [] : [fact.why]))
    .filter((why, index, all) => all.indexOf(why) === index);
  return {
    ...{ message_id: messageId, account_id: accountId },
    campaign_id: id.kind === 'campaign' ? id.campaignId : null,
    run_id: id.kind === 'campaign' ? id.runId : null,
    template_id: outcome?.template_id ?? of?.templateId ?? null,
    template_version: outcome?.template_version ?? of?.templateVersion ?? null,
    channel: outcome?.channel ?? of?.channel ?? reserved?.result?.channel ?? null,
    category: outcome?.category ?? of?.category ?? null,
    person_id: outcome?.person_id ?? person?.personId ?? null,
    user_id: outcome?.user_id ?? person?.userId ?? null,
    control_group: person?.isControl ?? (outcome ? outcome.status === 'withheld' : null),
    state: stateOf(evidence),
    status: outcome?.status ?? reserved?.result?.status ?? null,
    ...reasonOf(outcome?.reason ?? reserved?.result?.reason ?? ''),
    attempts: outcome?.attempts ?? at?.retry?.attempts ?? 0,
    next_attempt_at: outcome || !at?.retry ? null : time(at.retry.at),
    opened_with: at?.openedWith || reserved?.openedWith || null,
    provider: outcome?.provider || null,
    provider_message_id: outcome?.provider_message_id || null,
    planned_at: time(outcome?.planned_at ?? of?.frozenAt ?? reserved?.reservedAt),
    finished_at: time(outcome?.finished_at ?? reserved?.finishedAt),
    unread,
  };
}

/** `open`: a provider is being called, or was when its process died. */
function stateOf(evidence: MessageEvidence): 'waiting' | 'open' | 'finished' | 'unknown' {
  if (outcomeOf(evidence)) return 'finished';
  const { run, queued, reservation, id } = evidence;
  if (id.kind === 'transactional') {
    if (!reservation.known || !reservation.value) return 'unknown';
    if (reservation.value.result) return 'finished';
    return reservation.value.openedAt === undefined ? 'waiting' : 'open';
  }
  if (!run.known || !queued.known) return 'unknown';
  return queued.value === undefined || queued.value.state === 'unopened'
    ? 'waiting'
    : queued.value.state;
}

function reasonOf(reason: string): { reason: string | null; reason_fa: string | null } {
  const texts: Readonly<Record<string, string>> = { ...SKIP_REASONS, ...FAILURE_REASONS };
  return { reason: reason || null, reason_fa: texts[reason] ?? null };
}

function time(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
