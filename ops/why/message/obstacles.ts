import { spanText, timeText } from '../../../cli/format.ts';
import { endOfQuietHours } from '../../../messaging/delivery/quiet-hours.ts';
import type { MessageEvidence, RunFacts } from './facts.ts';

/** Marketing waits while what is known of consents is further behind, ms. */
const MAX_CONSENT_LAG_MS = 30_000;

/**
 * Why a message of a campaign has no outcome yet, the weightiest first; empty: it waits for its
 * turn only. What a server did not answer is named as such.
 */
export function obstaclesOf(evidence: MessageEvidence): string[] {
  const { run } = evidence;
  if (!run.known || !run.value) return [];
  const facts = run.value;
  return [
    ...runObstacles(facts, evidence),
    ...senderObstacles(evidence),
    ...marketingObstacles(facts, evidence),
    ...timeObstacles(evidence),
  ];
}

function runObstacles(run: RunFacts, { now }: MessageEvidence): string[] {
  const all: string[] = [];
  if (!run.isActive) all.push('the account is suspended');
  if (run.cancelled) all.push('the run is being cancelled: it ends as skipped');
  else if (run.paused) all.push('the run is paused (./ravand admin campaign resume)');
  if (run.state === 'confirm')
    all.push('the run is late and waits for a person (./ravand admin campaign confirm)');
  if (run.state === 'scheduled')
    all.push(run.dueAt > now ? `the run begins ${timeText(run.dueAt)}` : 'the run is due');
  if (run.state === 'planning' && run.frozenAt === undefined)
    all.push('the audience is being computed');
  if (run.state === 'failed') all.push(`the run failed: ${run.error}`);
  if (run.state === 'missed') all.push('the run was missed');
  return all;
}

function senderObstacles({ sender, phase, queued, now }: MessageEvidence): string[] {
  if (!queued.known || !queued.value) return [];
  const all: string[] = [];
  if (!sender.known) all.push(`the sender cannot be read: ${sender.why}`);
  const { broken, perSecond, usedUntil = 0 } = (sender.known ? sender.value : undefined) ?? {};
  if (broken)
    all.push(
      `the provider has refused the sender since ${timeText(broken.at)}: ${broken.reason}; one message a minute tries it`,
    );
  if (!phase.known) all.push(`whether its breaker is open is not known: ${phase.why}`);
  else if (phase.value?.phase === 'open')
    all.push('the breaker of its sender is open: the provider failed again and again');
  else if (phase.value?.phase === 'half_open')
    all.push('the breaker of its sender is half open: one message at a time tries it');
  if (perSecond !== undefined && usedUntil > now)
    all.push(`the rate of its sender (${perSecond} a second) is used up`);
  return all;
}

function marketingObstacles(
  { category }: RunFacts,
  { settings, consentLag, queued, now }: MessageEvidence,
): string[] {
  if (category !== 'marketing' || !queued.known || !queued.value || queued.value.isControl)
    return [];
  const all: string[] = [];
  const quiet = settings.known ? settings.value?.quietHours : undefined;
  const until = quiet && endOfQuietHours(quiet, now);
  if (!settings.known) all.push(`the settings of the account cannot be read: ${settings.why}`);
  if (until !== undefined) all.push(`quiet hours until ${timeText(until)}`);
  if (!consentLag.known) all.push(`how old known consents are is not known: ${consentLag.why}`);
  const lag = consentLag.known ? consentLag.value : undefined;
  if (lag !== undefined && lag > MAX_CONSENT_LAG_MS)
    all.push(
      `marketing waits because consents are ${Number.isFinite(lag) ? `${spanText(lag)} behind` : 'behind: Kafka does not answer'} (./ravand lag: addresses-sink, profiles-sink)`,
    );
  return all;
}

function timeObstacles({ queued, now }: MessageEvidence): string[] {
  const { retry, nextAt = 0, leasedUntil } = (queued.known ? queued.value : undefined) ?? {};
  if (retry && retry.at > now) return [`it is tried again ${timeText(retry.at)}`];
  if (leasedUntil !== undefined) return ['its chunk is being sent at this moment'];
  return nextAt > now ? [`its chunk waits until ${timeText(nextAt)}`] : [];
}
