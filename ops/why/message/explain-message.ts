import { countText, spanText, timeText } from '../../../cli/format.ts';
import type { Fact } from '../evidence.ts';
import {
  absent,
  done,
  ended,
  unavailable,
  unknown,
  waiting,
  type Answer,
  type Finding,
  type Stage,
} from '../findings.ts';
import { outcomeOf, type MessageEvidence, type RunFacts } from './facts.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';
import { obstaclesOf } from './obstacles.ts';

/** From the plan to the conversion: the verdict, then each stage. */
export function explainMessage(evidence: MessageEvidence): Answer {
  const stages = evidence.id.kind === 'campaign' ? campaignStages(evidence) : request(evidence);
  return { verdict: verdictOf(evidence), stages: [...stages, ...outcomeStages(evidence)] };
}

/**
 * What proves that there is no such message; undefined: there is one, or a server that would know
 * it did not answer.
 */
export function unknownMessage(evidence: MessageEvidence): string | undefined {
  const { id, run, frozen, queued, reservation, stored, messageId } = evidence;
  if (outcomeOf(evidence)) return undefined;
  if (id.kind === 'transactional') {
    if (!reservation.known || reservation.value || !stored.known) return undefined;
    return `there is no message ${messageId}: account ${id.accountId} never used that idempotency key, or longer ago than messages are kept`;
  }
  const { campaignId, runId } = id;
  if (!run.known) return undefined;
  if (!run.value)
    return `there is no message ${messageId}: campaign ${campaignId} has no run ${runId}`;
  if (run.value.frozenAt === undefined || !frozen.known || frozen.value) return undefined;
  if (!queued.known || queued.value || !stored.known) return undefined;
  return `there is no message ${messageId}: run ${runId} of campaign ${campaignId} has ${countText(run.value.planned)} people, and nobody with the key ${id.key}`;
}

function verdictOf(evidence: MessageEvidence): string {
  const outcome = outcomeOf(evidence);
  if (outcome) return `${outcomeText(outcome)} at ${timeText(outcome.finished_at)}`;
  const { id, run, queued, reservation, stored } = evidence;
  if (id.kind === 'transactional') {
    if (!reservation.known) return `unknown: ${reservation.why}`;
    const { result, openedAt } = reservation.value ?? {};
    if (result) return `${result.status}${result.reason === undefined ? '' : `: ${result.reason}`}`;
    if (!reservation.value) return 'unknown: nobody who answered knows it';
    return openedAt === undefined
      ? 'being prepared: no provider was called'
      : 'a provider is being called, or was when the request was lost';
  }
  if (!run.known) return `unknown: ${run.why}`;
  if (queued.known && queued.value?.state === 'finished')
    return stored.known
      ? 'it has an outcome, which is on its way to ClickHouse'
      : `it has an outcome, which cannot be read: ${stored.why}`;
  if (queued.known && queued.value?.state === 'open')
    return 'a provider is being called, or was when its process died';
  const [obstacle] = obstaclesOf(evidence);
  if (run.value && ENDED_STATES.has(run.value.state))
    return `it is not sent: the run was ${run.value.state}`;
  return `it waits: ${obstacle ?? 'it is due and waits for its turn'}`;
}

/** States of a run that ended before it had messages. */
const ENDED_STATES: ReadonlySet<string> = new Set(['missed', 'failed', 'cancelled']);

function outcomeText({ status, reason, provider }: MessageOutcome): string {
  const by = provider === '' ? '' : ` ${status === 'sent' ? 'by' : 'at'} ${provider}`;
  return `${status}${by}${reason === '' ? '' : `: ${reason}`}`;
}

function campaignStages(evidence: MessageEvidence): Stage[] {
  return [
    { name: 'campaign', ...ofRun(evidence.run, campaign(evidence)) },
    { name: 'run', ...ofRun(evidence.run, runFinding(evidence)) },
    { name: 'audience', ...audience(evidence) },
    { name: 'chunk', ...chunk(evidence) },
    { name: 'sending', ...sending(evidence) },
  ];
}

function ofRun(run: Fact<RunFacts | undefined>, finding: (facts: RunFacts) => Finding): Finding {
  if (!run.known) return unavailable(run);
  return run.value ? finding(run.value) : absent('there is none');
}

const campaign =
  ({ id }: MessageEvidence) =>
  (run: RunFacts) =>
    done(
      `campaign ${id.kind === 'campaign' ? id.campaignId : 0} ${JSON.stringify(run.campaignName)} of account ${run.accountId}, ${run.campaignStatus}: ${run.channel}, ${run.category}, template ${run.templateId} version ${run.templateVersion}${run.goal ? `, goal ${run.goal.event} within ${run.goal.hours} h` : ''}`,
    );

const runFinding =
  ({ id, now }: MessageEvidence) =>
  (run: RunFacts): Finding => {
    const name = `run ${id.kind === 'campaign' ? id.runId : 0}, ${run.cause === 'send' ? 'asked for' : 'of the recurrence'}, due ${timeText(run.dueAt)}`;
    const held = run.paused ? ', paused' : '';
    switch (run.state) {
      case 'scheduled':
        return waiting(
          `${name}${held}: ${run.dueAt > now ? `begins in ${spanText(run.dueAt - now)}` : 'the planner has not begun it; ./ravand lag'}`,
        );
      case 'confirm':
        return waiting(
          `${name}: it is more than an hour late and waits for a person to confirm it`,
        );
      case 'cancelled':
        return ended(`${name}: cancelled`);
      case 'missed':
        return ended(`${name}: missed; the next one was due before anybody confirmed it`);
      case 'failed':
        return ended(`${name}: failed: ${run.error}`);
      case 'finished':
        return done(`${name}: finished ${timeText(run.finishedAt ?? now)}`);
      default:
        return (run.paused ? waiting : done)(
          `${name}: ${run.state}${held}${run.cancelled ? ', being cancelled' : ''}`,
        );
    }
  };

function audience({ run, frozen, queued }: MessageEvidence): Finding {
  const facts = run.known ? run.value : undefined;
  const found =
    (queued.known ? queued.value : undefined) ?? (frozen.known ? frozen.value : undefined);
  if (!facts) return run.known ? absent('there is no run') : unavailable(run);
  if (facts.frozenAt === undefined) return waiting('it is not frozen yet');
  const frozenText = `frozen ${timeText(facts.frozenAt)} with ${countText(facts.planned)} people`;
  if (!found)
    return frozen.known ? absent(`${frozenText}; this person is not in it`) : unavailable(frozen);
  const who = found.personId === '' ? 'a person who was erased' : found.personId;
  const { controlPercent: percent } = facts;
  const side = found.isControl
    ? `in the control group (${percent}%): withheld`
    : percent > 0
      ? `in the treatment group (control ${percent}%)`
      : 'without a control group';
  return done(`${frozenText}; ${who}, ${side}`);
}

function chunk({ run, queued, id, stored }: MessageEvidence): Finding {
  if (!queued.known) return unavailable(queued);
  const at = queued.value;
  if (at) return done(`chunk ${at.chunk}, recipient ${at.index + 1} of ${at.recipients}`);
  if (stored.known && stored.value) return done('it has left the queue of the dispatcher');
  const facts = run.known ? run.value : undefined;
  if (!facts || id.kind !== 'campaign') return unknown('its run is not known');
  if (!['planning', 'sending'].includes(facts.state)) return absent('no chunk of it waits');
  const isDurable = facts.isPlanned || (facts.lastKey !== '' && facts.lastKey >= id.key);
  return isDurable
    ? waiting('in messages.planned, and not in the queue of the dispatcher yet; ./ravand lag')
    : waiting(`not written yet: the planner has written ${countText(facts.chunks)} chunks`);
}

function sending(evidence: MessageEvidence): Finding {
  const { queued, now } = evidence;
  if (outcomeOf(evidence)) return done('it has an outcome');
  if (!queued.known) return unavailable(queued);
  const at = queued.value;
  if (!at)
    return waiting(obstaclesOf(evidence).join('; ') || 'it is in no chunk of the dispatcher');
  if (at.state === 'finished') return done('it has an outcome');
  const tried = at.retry
    ? `${at.retry.attempts} attempts, the next one ${whenText(at.retry.at, now)}; `
    : '';
  if (at.state === 'open')
    return waiting(
      `${tried}its attempt by ${at.openedWith} is recorded and has no outcome: ${at.leasedUntil === undefined ? 'nobody has the chunk, the next process resolves it' : 'the provider is being called'}`,
    );
  const obstacles = obstaclesOf(evidence);
  const why = obstacles.length > 0 ? obstacles.join('; ') : 'it is due and waits for its turn';
  return waiting(`${tried}${why}`);
}

function whenText(at: number, now: number): string {
  return at > now ? `in ${spanText(at - now)}` : 'is due';
}

function request({ id, reservation, now }: MessageEvidence): Stage[] {
  if (id.kind !== 'transactional') return [];
  const name = 'request';
  if (!reservation.known) return [{ name, ...unavailable(reservation) }];
  const { value } = reservation;
  if (!value)
    return [{ name, ...unknown('its idempotency key is not kept any more, or was freed') }];
  const key = `idempotency key ${id.idempotencyKey} of account ${id.accountId}, reserved ${timeText(value.reservedAt)}`;
  const called =
    value.openedAt === undefined
      ? 'no provider was called'
      : `${value.openedWith} was called ${timeText(value.openedAt)}`;
  if (value.result) return [{ name, ...done(`${key}; ${called}`) }];
  return [
    {
      name,
      ...waiting(
        `${key}, ${spanText(now - value.reservedAt)} ago; ${called}, and its result is not known`,
      ),
    },
  ];
}

function outcomeStages(evidence: MessageEvidence): Stage[] {
  return [
    { name: 'outcome', ...outcome(evidence) },
    { name: 'events', ...events(evidence) },
    { name: 'opened', ...opened(evidence) },
    { name: 'clicked', ...clicked(evidence) },
    { name: 'conversion', ...conversion(evidence) },
  ];
}

function outcome({ stored, outbox, queued }: MessageEvidence): Finding {
  const found = stored.known ? stored.value : undefined;
  if (found) return done(detailsOf(found));
  if (outbox.known && outbox.value)
    return waiting(`${detailsOf(outbox.value)}; in the outbox of PostgreSQL, not published yet`);
  if (!stored.known) return unavailable(stored);
  if (!outbox.known) return unavailable(outbox);
  if (queued.known && queued.value?.state === 'finished')
    return waiting('in messages.outcomes, and messages-sink has not stored it yet; ./ravand lag');
  return absent('none yet');
}

function detailsOf(outcome: MessageOutcome): string {
  const id = outcome.provider_message_id;
  const calls = outcome.attempts === 1 ? '1 attempt' : `${outcome.attempts} attempts`;
  const template = `template ${outcome.template_id} version ${outcome.template_version}`;
  return `${outcomeText(outcome)} after ${calls}, ${timeText(outcome.finished_at)}, ${outcome.channel}, ${template}${id === '' ? '' : `, its id there is ${id}`}`;
}

const PLATFORM_EVENTS: ReadonlySet<string> = new Set([
  'message_sent',
  'message_failed',
  'message_withheld',
]);

function events(evidence: MessageEvidence): Finding {
  const outcome = outcomeOf(evidence);
  if (!outcome) return absent('none before its outcome');
  if (outcome.status === 'skipped') return absent('a skipped message has no event');
  if (!evidence.events.known) return unavailable(evidence.events);
  const found = evidence.events.value.filter(({ event }) => PLATFORM_EVENTS.has(event));
  if (found.length === 0)
    return waiting(
      `message_${outcome.status} is on its way, or the person was erased; ./ravand lag`,
    );
  const texts = found.map(
    ({ event, timestamp, messageId }) => `${event} ${timeText(timestamp)}, event ${messageId}`,
  );
  return done(`${texts.join('; ')}; ./ravand why EVENT --account ${outcome.account_id} follows it`);
}

function opened({ events: found, opens }: MessageEvidence): Finding {
  const all = found.known
    ? found.value.filter(({ event, source }) => event === 'message_opened' && source === 'platform')
    : [];
  const { openedAt, openedByPersonAt } = (opens.known ? opens.value : undefined) ?? {};
  const byPerson = openedByPersonAt ?? all.find(({ isBot }) => !isBot)?.timestamp;
  if (byPerson !== undefined) return done(`by a person ${timeText(byPerson)}`);
  const [first] = all;
  const any = openedAt ?? first?.timestamp;
  if (any !== undefined)
    return done(`by a mail proxy or a bot only, ${timeText(any)}: it does not count`);
  if (!found.known) return unavailable(found);
  if (!opens.known) return unavailable(opens);
  return absent('no');
}

function clicked({ events: found }: MessageEvidence): Finding {
  if (!found.known) return unavailable(found);
  const clicks = found.value.filter(({ event, isBot }) => event === 'message_clicked' && !isBot);
  const [first] = clicks;
  if (!first) return absent('no');
  return done(
    `${clicks.length === 1 ? 'once' : `${clicks.length} times`}, first ${timeText(first.timestamp)}`,
  );
}

function conversion({ conversion: found, run, id }: MessageEvidence): Finding {
  if (!found.known) return unavailable(found);
  const goal = run.known ? run.value?.goal : undefined;
  if (!goal) return absent('it has no goal');
  if (!found.value) return absent('only a message that was sent converts');
  const { converted, revenue } = found.value;
  if (!converted) return absent(`no ${goal.event} of this person belongs to the campaign`);
  const name = id.kind === 'campaign' ? id.campaignId : 0;
  return done(
    `${goal.event} of this person belongs to campaign ${name}, revenue ${countText(revenue)}`,
  );
}
