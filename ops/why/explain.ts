import { spanText, timeText } from '../../cli/format.ts';
import { GROUP } from '../../schemas/topology.ts';
import {
  distinctIdOf,
  positionKey,
  positionOf,
  previousIdOf,
  type Evidence,
  type RawOccurrence,
} from './evidence.ts';
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
} from './findings.ts';

const DAY = 86_400_000;
const KEPT_DAYS = 400;

/** Combines the evidence into one answer: first the verdict, then each stage. */
export function explain(evidence: Evidence): Answer {
  const position = positionOf(evidence);
  const key = position && positionKey(position);
  const occurrence =
    key !== undefined && evidence.raw.known
      ? evidence.raw.value.found.find((one) => positionKey(one) === key)
      : undefined;
  const { offset, partition } = position ?? {};
  const facts: Facts = { evidence, key, offset, partition, occurrence };
  return {
    verdict: verdictOf(facts),
    stages: [
      { name: 'gateway', ...gateway(facts) },
      { name: 'raw log', ...raw(facts) },
      { name: 'dedupe', ...dedupe(facts) },
      { name: 'normaliser', ...normalised(facts) },
      { name: 'row', ...row(facts) },
      ...deadLetterStages(facts),
      { name: 'profile', ...profile(facts) },
      { name: 'identity', ...identity(facts) },
      { name: 'relays', ...relays(facts) },
    ],
  };
}

/** The evidence about the position that the answer is about. */
interface Facts {
  evidence: Evidence;
  /** positionKey of the position. */
  key: string | undefined;
  offset: number | undefined;
  partition: number | undefined;
  occurrence: RawOccurrence | undefined;
}

function verdictOf(facts: Facts): string {
  const { rows, raw, claim, deadLetters, retention, messageId, accountId } = facts.evidence;
  if (retention.known && retention.value === undefined) return `there is no account ${accountId}`;
  if (rows.known && rows.value.length === 1) return 'stored once';
  if (rows.known && rows.value.length > 1)
    return `stored ${rows.value.length} times: a message id is one row only within the deduplication window`;
  const dead = deadLetters.known ? deadLetters.value : [];
  const open = dead.find(({ state }) => state === 'dead' || state === 'redriving');
  if (open)
    return `dead: ${open.reason}, dead letter ${open.key}; ./ravand dlq show ${open.fingerprint}`;
  const discarded = dead.find(({ state }) => state === 'discarded');
  if (discarded) return `dead and discarded by an operator: ${discarded.note ?? ''}`;
  if (!rows.known) return `unknown whether it is stored: ${rows.why}`;
  const expired = expiredText(facts);
  if (expired !== undefined) return expired;
  if (isInFlight(facts)) return 'accepted and under way: it is not stored yet';
  if (facts.key !== undefined)
    return 'it is in the raw log and past the normaliser, and has no row: see the stages';
  if (claim.known && claim.value?.state === 'durable')
    return 'accepted by a gateway, but not in the searched part of the raw log: it waits in a spool, or is older (--since TIME searches further back)';
  if (claim.known && claim.value?.state === 'pending')
    return 'a gateway is accepting it at this moment';
  if (!raw.known) return `nothing is known about it: ${raw.why}`;
  return `no trace of ${JSON.stringify(messageId)}: it was never accepted, was rejected, or is older than the searched part of the log (--since TIME searches further back)`;
}

function gateway({ evidence: { claim, spooled, raw, rows }, occurrence }: Facts): Finding {
  if (occurrence) {
    const { receivedAt, source, path, trace, gateway: by, generated } = occurrence;
    const origin = generated ? ', which generated the message id' : '';
    return done(
      `accepted ${timeText(receivedAt)} by ${source} ${path}, trace ${trace || 'none'}, gateway ${by}${origin}`,
    );
  }
  const [row] = rows.known ? rows.value : [];
  if (row && row.trace !== '')
    return done(
      `accepted ${timeText(row.received_at)}, trace ${row.trace}; its raw record was not found`,
    );
  const inSpool =
    spooled.known && spooled.value > 0
      ? `${spooled.value} events of the account wait in the spool and may include it`
      : '';
  if (claim.known && claim.value && claim.value.state !== 'pending')
    return done(
      `accepted: its message id is claimed until ${timeText(claim.value.expires)}${inSpool && `; ${inSpool}`}`,
    );
  if (inSpool !== '') return unknown(inSpool);
  const log = raw.known
    ? `not found in ${raw.value.searched}`
    : `the log did not answer (${raw.why})`;
  const spool = spooled.known
    ? 'the spool holds no event of the account'
    : `the spool did not answer (${spooled.why})`;
  return unknown(`${log}; ${spool}; a rejected event only leaves its code in the quality report`);
}

function raw({ evidence, key }: Facts): Finding {
  if (!evidence.raw.known) return unavailable(evidence.raw);
  const { found, searched, complete } = evidence.raw.value;
  const scope = `${searched}${complete ? '' : ' (incomplete)'}`;
  if (found.length === 0) return (key === undefined ? absent : unknown)(`not in ${scope}`);
  const positions = found.map(
    (one) =>
      `events.raw/${offsetText(one)}${one.redrivenFrom ? ' (redriven)' : ''} appended ${timeText(one.appendedAt)}`,
  );
  return done(`${positions.join('; ')}; searched ${scope}`);
}

function dedupe({ evidence: { claim, raw: search, verdicts, rows }, key }: Facts): Finding {
  const others = search.known ? search.value.found.filter((one) => positionKey(one) !== key) : [];
  const texts = others.map((one) => {
    const verdict = verdicts.known ? verdicts.value.get(positionKey(one)) : undefined;
    const missing = verdicts.known ? 'no verdict yet' : `unknown (${verdicts.why})`;
    return `${offsetText(one)}: ${verdict ?? missing}`;
  });
  const more = texts.length === 0 ? '' : `; other positions: ${texts.join(', ')}`;
  if (claim.known && claim.value?.state === 'resolved') {
    const { position, expires } = claim.value;
    return done(
      `the first one is ${offsetText(position)}; duplicates are dropped until ${timeText(expires)}${more}`,
    );
  }
  if (claim.known && claim.value?.state === 'packed') {
    const [first] = rows.known ? rows.value : [];
    const position = first ? `the first one is ${offsetText(first)}` : 'its claim is packed';
    return done(
      `${position}; duplicates are dropped until ${timeText(claim.value.expires)} or a little earlier${more}`,
    );
  }
  if (claim.known && claim.value)
    return waiting(
      `claimed by the gateway (${claim.value.state}), not resolved by the normaliser yet${more}`,
    );
  const why = claim.known
    ? 'no claim: it is older than the window, has a dedupe key of its own, or was never accepted'
    : `Redis did not answer about the claim (${claim.why})`;
  const [first] = rows.known ? rows.value : [];
  const stored = first ? `according to the stored row, ${offsetText(first)} came first; ` : '';
  const message = `${stored}${why}${more}`;
  if (!claim.known) return { state: 'unavailable', message };
  return first ? done(message) : unknown(message);
}

function normalised(facts: Facts): Finding {
  const { progress, normalised: at } = facts.evidence;
  if (facts.key === undefined) return absent('it has no position in the raw log');
  if (at.known && at.value !== undefined)
    return done(`events.normalised/${facts.partition ?? 0}/${at.value}`);
  if (isInFlight(facts) && progress.known) {
    const behind = (facts.offset ?? 0) - (progress.value.normaliser ?? 0);
    return waiting(
      `not processed yet: ${behind + 1} records of the partition come first; ./ravand lag`,
    );
  }
  if (!at.known) return unavailable(at);
  return unknown(
    'no retained row batch holds it: it is dead, a duplicate, or older than the retention of events.normalised',
  );
}

function row(facts: Facts): Finding {
  const { rows, normalised: at, progress } = facts.evidence;
  if (!rows.known) return unavailable(rows);
  const [first] = rows.value;
  if (first) {
    const { event, type, timestamp } = first;
    const count = rows.value.length === 1 ? 'one' : rows.value.length;
    return done(`${count}: ${event || type} of ${timeText(timestamp)} at ${offsetText(first)}`);
  }
  const expired = expiredText(facts);
  if (expired !== undefined) return ended(expired);
  const sink = progress.known ? progress.value.groups.get('events-sink') : undefined;
  if (at.known && at.value !== undefined && progress.known && (sink ?? 0) <= at.value)
    return waiting('the sink has not processed its batch yet; ./ravand lag');
  return absent('none');
}

function deadLetterStages({ evidence: { deadLetters } }: Facts): Stage[] {
  if (!deadLetters.known) return [{ name: 'dead letters', ...unavailable(deadLetters) }];
  return deadLetters.value.map(({ key, reason, state, note, redriven_to: to, partition }) => ({
    name: 'dead letter',
    ...(state === 'redriven' ? done : ended)(
      `${key}: ${reason}, ${state}${to === null ? '' : ` to events.raw/${partition}/${to}`}${note === null ? '' : ` (${note})`}`,
    ),
  }));
}

function profile(facts: Facts): Finding {
  const { profile: folded, rows, normalised: at } = facts.evidence;
  const position = positionOf(facts.evidence);
  const isRow = (rows.known && rows.value.length > 0) || (at.known && at.value !== undefined);
  if (position === undefined || (rows.known && at.known && !isRow))
    return absent('nothing to fold');
  if (!folded.known) return unavailable(folded);
  if (folded.value === undefined)
    return (rows.known && rows.value.length > 0 ? waiting : absent)(
      'its distinct id has no profile yet',
    );
  const last = `the last folded position of its distinct id is ${offsetText(folded.value)}`;
  if (folded.value.partition !== position.partition)
    return unknown(`${last}, in another partition than the event`);
  const ahead =
    folded.value.epoch - position.epoch ||
    folded.value.offset - position.offset ||
    folded.value.index - position.index;
  return ahead >= 0 ? done(`folded: ${last}`) : waiting(`not folded yet: ${last}; ./ravand lag`);
}

function identity(facts: Facts): Finding {
  const { identities, rows, accountId } = facts.evidence;
  const [first] = rows.known ? rows.value : [];
  const distinctId = distinctIdOf(first, facts.occurrence);
  if (distinctId === undefined) return absent('its distinct id is unknown');
  if (!identities.known) return unavailable(identities);
  const { canonical, others } = identities.value;
  const personOf = (id: string) => canonical.get(id) ?? id;
  const person = personOf(distinctId);
  const previousId = previousIdOf(first, facts.occurrence);
  if (previousId !== undefined) {
    const previous = personOf(previousId);
    if (previous === person)
      return done(`it merges ${previousId} into ${distinctId}: both belong to ${person}`);
    if (isBeforeIdentities(facts))
      return waiting(`${previousId} is not merged into ${distinctId} yet; ./ravand lag`);
    return absent(
      `it merges nothing: ${previousId} belongs to ${previous}, ${distinctId} belongs to ${person}; ./ravand person ${previousId} --account ${accountId} shows what merged or separated them`,
    );
  }
  if (person !== distinctId) return done(`${distinctId} belongs to ${person}`);
  if (others === 0) return done(`${distinctId}, not merged with another distinct id`);
  const more = others === 1 ? '1 more distinct id' : `${others} more distinct ids`;
  return done(
    `${distinctId}, the canonical id of a person with ${more}; ./ravand person lists them`,
  );
}

/** Whether the identities sink has not processed the event yet. */
function isBeforeIdentities({
  evidence: { progress, normalised: at },
  key,
  offset,
}: Facts): boolean {
  if (!progress.known || key === undefined) return false;
  if (at.known && at.value !== undefined)
    return (progress.value.groups.get(GROUP.identities) ?? 0) <= at.value;
  return (progress.value.normaliser ?? 0) <= (offset ?? 0);
}

function relays({ evidence: { deliveries } }: Facts): Finding {
  if (!deliveries.known) return unavailable(deliveries);
  if (deliveries.value === undefined) return absent('this installation has none');
  if (deliveries.value.length === 0) return absent('no delivery of it');
  const texts = deliveries.value.map(
    ({ relay, status, attempts, response_status: response, error }) =>
      `${relay}: ${status} after ${attempts} attempts${response === null ? '' : `, answered ${response}`}${error === null ? '' : ` (${error})`}`,
  );
  const isWaiting = deliveries.value.some(({ status }) => status === 'pending');
  return (isWaiting ? waiting : done)(texts.join('; '));
}

/** Whether the normaliser or the sink has not processed the position yet. */
function isInFlight({ evidence: { progress, normalised: at }, offset }: Facts): boolean {
  if (offset === undefined || !progress.known) return false;
  if ((progress.value.normaliser ?? 0) <= offset) return true;
  return (
    at.known &&
    at.value !== undefined &&
    (progress.value.groups.get('events-sink') ?? 0) <= at.value
  );
}

function expiredText({ evidence: { retention, now }, occurrence }: Facts): string | undefined {
  if (!occurrence) return undefined;
  const own =
    retention.known && retention.value !== undefined && retention.value > 0
      ? retention.value
      : KEPT_DAYS;
  const days = Math.min(own, KEPT_DAYS);
  const age = now - occurrence.timestamp;
  if (age < days * DAY) return undefined;
  const rule = days === KEPT_DAYS ? 'events are kept 400 days' : `the account keeps ${days} days`;
  return `expired: its timestamp is ${spanText(age)} ago, and ${rule}`;
}

function offsetText(at: { partition: number; offset: number; index: number }): string {
  return `${at.partition}/${at.offset}/${at.index}`;
}
