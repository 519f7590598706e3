import { spanText, timeText } from '../../cli/format.ts';
import { placeKey, placeOf, type Asked, type Evidence, type RawSighting } from './evidence.ts';

/** One station of the event's way. `away`: the part that knows it could not be asked. */
export interface Stage {
  station: string;
  state: 'done' | 'waiting' | 'ended' | 'absent' | 'unknown' | 'away';
  message: string;
}

export interface Answer {
  /** The whole in one sentence. */
  verdict: string;
  stations: Stage[];
}

const DAY = 86_400_000;
const KEPT_DAYS = 400;

/**
 * Puts what the parts said together into one answer: first the verdict, then station by station.
 */
export function explain(evidence: Evidence): Answer {
  const place = placeOf(evidence);
  const sighting =
    place && evidence.raw.known
      ? evidence.raw.value.found.find((one) => placeKey(one) === placeKey(place))
      : undefined;
  const facts = {
    evidence,
    place: place && placeKey(place),
    offset: place?.offset,
    partition: place?.partition,
    sighting,
  };
  return {
    verdict: verdictOf(facts),
    stations: [
      gateway(facts),
      raw(facts),
      dedupe(facts),
      normalised(facts),
      row(facts),
      ...letters(facts),
      profile(facts),
      identity(facts),
      relays(facts),
    ],
  };
}

interface Facts {
  evidence: Evidence;
  place: string | undefined;
  offset: number | undefined;
  partition: number | undefined;
  sighting: RawSighting | undefined;
}

function verdictOf(facts: Facts): string {
  const { rows, raw, claim, letters: dead, retention, messageId, accountId } = facts.evidence;
  if (retention.known && retention.value === undefined) return `there is no account ${accountId}`;
  if (rows.known && rows.value.length === 1) return 'stored once';
  if (rows.known && rows.value.length > 1)
    return `stored ${rows.value.length} times: a message id is one row within the window of de-duplication only`;
  const waiting = dead.known
    ? dead.value.find(({ state }) => state === 'dead' || state === 'redriving')
    : undefined;
  if (waiting)
    return `dead: ${waiting.reason}, letter ${waiting.letter}; ./ravand dlq show ${waiting.fingerprint}`;
  const gone = dead.known ? dead.value.find(({ state }) => state === 'discarded') : undefined;
  if (gone) return `dead and discarded by an operator: ${gone.note ?? ''}`;
  if (!rows.known) return `it cannot be told whether it is stored: ${rows.why}`;
  const expired = expiredText(facts);
  if (expired !== undefined) return expired;
  if (isInFlight(facts)) return 'accepted and under way: it is not stored yet';
  if (facts.place !== undefined)
    return 'it is in the raw log and past the normaliser, and has no row: see the stations';
  if (claim.known && claim.value?.state === 'durable')
    return 'accepted by a gateway, and not in the raw log where it was looked for: it waits in a spool, or --since TIME looks further back';
  if (claim.known && claim.value?.state === 'pending')
    return 'a gateway is taking it in at this moment';
  if (!raw.known) return `nothing is known of it: ${raw.why}`;
  return `no trace of ${JSON.stringify(messageId)}: it was never accepted, was rejected, or is older than what was looked through (--since TIME looks further back)`;
}

function gateway({ evidence: { claim, spooled, raw }, sighting }: Facts): Stage {
  const station = 'gateway';
  if (sighting) {
    const { receivedAt, source, path, trace, gateway: by, generated } = sighting;
    const made = generated ? ', the message id made by it' : '';
    return {
      station,
      state: 'done',
      message: `accepted ${timeText(receivedAt)} by ${source} ${path}, gateway ${by}, trace ${trace || 'none'}${made}`,
    };
  }
  const inSpool =
    spooled.known && spooled.value > 0
      ? `; ${spooled.value} events of the account wait in the spool and may hold it`
      : '';
  if (claim.known && claim.value && claim.value.state !== 'pending')
    return {
      station,
      state: 'done',
      message: `accepted: its message id is claimed until ${timeText(claim.value.expires)}${inSpool}`,
    };
  if (inSpool !== '') return { station, state: 'unknown', message: inSpool.slice(2) };
  const asked = raw.known
    ? `not found in ${raw.value.searched}`
    : `the log could not be asked (${raw.why})`;
  const spool = spooled.known
    ? 'nothing of the account is in the spool'
    : `the spool could not be asked (${spooled.why})`;
  return {
    station,
    state: 'unknown',
    message: `${asked}; ${spool}; a rejected event leaves its code in the quality report and nothing else`,
  };
}

function raw({ evidence, place }: Facts): Stage {
  const station = 'raw log';
  if (!evidence.raw.known) return away(station, evidence.raw);
  const { found, searched, complete } = evidence.raw.value;
  const looked = `${searched}${complete ? '' : ', not to its end'}`;
  if (found.length === 0)
    return {
      station,
      state: place === undefined ? 'absent' : 'unknown',
      message: `not in ${looked}`,
    };
  const places = found.map(
    (one) =>
      `events.raw/${one.partition}/${one.offset}/${one.index}${one.redrivenFrom ? ' (redriven)' : ''} appended ${timeText(one.appendedAt)}`,
  );
  return { station, state: 'done', message: `${places.join('; ')}; looked through ${looked}` };
}

function dedupe({ evidence: { claim, raw: search, verdicts, rows }, place }: Facts): Stage {
  const station = 'dedupe';
  const others = search.known ? search.value.found.filter((one) => placeKey(one) !== place) : [];
  const said = others.map((one) => {
    const verdict = verdicts.known ? verdicts.value.get(placeKey(one)) : undefined;
    return `${one.partition}/${one.offset}/${one.index}: ${verdict ?? (verdicts.known ? 'no verdict yet' : `unknown (${verdicts.why})`)}`;
  });
  const more = said.length === 0 ? '' : `; its other places: ${said.join(', ')}`;
  if (claim.known && claim.value?.state === 'resolved') {
    const { position: at, expires } = claim.value;
    return {
      station,
      state: 'done',
      message: `the first one is ${at.partition}/${at.offset}/${at.index}, duplicates are held off until ${timeText(expires)}${more}`,
    };
  }
  if (claim.known && claim.value)
    return {
      station,
      state: 'waiting',
      message: `claimed by the gateway (${claim.value.state}), not decided by the normaliser yet${more}`,
    };
  const why = claim.known
    ? 'no claim: it is older than the window, has a dedupe key of its own, or was never accepted'
    : `the claims could not be asked (${claim.why})`;
  const stored =
    rows.known && rows.value[0]
      ? `the stored row says that ${rows.value[0].partition}/${rows.value[0].offset}/${rows.value[0].index} won; `
      : '';
  return {
    station,
    state: claim.known ? (stored === '' ? 'unknown' : 'done') : 'away',
    message: `${stored}${why}${more}`,
  };
}

function normalised(facts: Facts): Stage {
  const station = 'normaliser';
  const { progress, normalised: at } = facts.evidence;
  if (facts.place === undefined)
    return { station, state: 'absent', message: 'it has no place in the raw log' };
  if (at.known && at.value !== undefined)
    return {
      station,
      state: 'done',
      message: `events.normalised/${facts.partition ?? 0}/${at.value}`,
    };
  if (isInFlight(facts) && progress.known) {
    const behind = (facts.offset ?? 0) - (progress.value.normaliser ?? 0);
    return {
      station,
      state: 'waiting',
      message: `not taken yet: ${behind + 1} records of the partition come first; ./ravand lag`,
    };
  }
  if (!at.known) return away(station, at);
  return {
    station,
    state: 'unknown',
    message:
      'no run that is still kept holds it: dead, a duplicate, or normalised longer ago than events.normalised is kept',
  };
}

function row(facts: Facts): Stage {
  const station = 'row';
  const { rows, normalised: at, progress } = facts.evidence;
  if (!rows.known) return away(station, rows);
  const [first] = rows.value;
  if (first) {
    const { event, type, timestamp, partition, offset, index } = first;
    return {
      station,
      state: 'done',
      message: `${rows.value.length === 1 ? 'one' : rows.value.length}: ${event || type} of ${timeText(timestamp)} under ${partition}/${offset}/${index}`,
    };
  }
  const expired = expiredText(facts);
  if (expired !== undefined) return { station, state: 'ended', message: expired };
  const sink = progress.known ? progress.value.groups.get('events-sink') : undefined;
  if (at.known && at.value !== undefined && progress.known && (sink ?? 0) <= at.value)
    return {
      station,
      state: 'waiting',
      message: 'the sink has not taken its run yet; ./ravand lag',
    };
  return { station, state: 'absent', message: 'none' };
}

function letters({ evidence: { letters: dead } }: Facts): Stage[] {
  if (!dead.known) return [away('dead letters', dead)];
  return dead.value.map(({ letter, reason, state, note, redriven_to: to, partition }) => ({
    station: 'dead letter',
    state: state === 'redriven' ? ('done' as const) : ('ended' as const),
    message: `${letter}: ${reason}, ${state}${to === null ? '' : ` to events.raw/${partition}/${to}`}${note === null ? '' : ` (${note})`}`,
  }));
}

function profile(facts: Facts): Stage {
  const station = 'profile';
  const { profile: stamp, rows, normalised: at } = facts.evidence;
  const place = placeOf(facts.evidence);
  const isRow = (rows.known && rows.value.length > 0) || (at.known && at.value !== undefined);
  if (place === undefined || (rows.known && at.known && !isRow))
    return { station, state: 'absent', message: 'nothing to fold' };
  if (!stamp.known) return away(station, stamp);
  if (stamp.value === undefined)
    return {
      station,
      state: rows.known && rows.value.length > 0 ? 'waiting' : 'absent',
      message: 'its name has no profile yet',
    };
  const last = `the fold of its name stands at ${stamp.value.partition}/${stamp.value.offset}/${stamp.value.index}`;
  if (stamp.value.partition !== place.partition)
    return { station, state: 'unknown', message: `${last}, another partition than the event's` };
  const taken =
    stamp.value.epoch - place.epoch ||
    stamp.value.offset - place.offset ||
    stamp.value.index - place.index;
  return taken >= 0
    ? { station, state: 'done', message: `folded in: ${last}` }
    : { station, state: 'waiting', message: `not folded in yet: ${last}; ./ravand lag` };
}

function identity({ evidence: { canonical, rows }, sighting }: Facts): Stage {
  const station = 'identity';
  const [first] = rows.known ? rows.value : [];
  const name = first ? first.user_id || first.anonymous_id : sighting?.name;
  if (name === undefined) return { station, state: 'absent', message: 'its name is not known' };
  if (!canonical.known) return away(station, canonical);
  return {
    station,
    state: 'done',
    message:
      canonical.value === undefined || canonical.value === name
        ? `${name}, joined to nobody`
        : `${name} is a name of ${canonical.value}`,
  };
}

function relays({ evidence: { deliveries } }: Facts): Stage {
  const station = 'relays';
  if (!deliveries.known) return away(station, deliveries);
  if (deliveries.value === undefined)
    return { station, state: 'absent', message: 'this installation has none' };
  if (deliveries.value.length === 0)
    return { station, state: 'absent', message: 'no delivery of it' };
  const said = deliveries.value.map(
    ({ relay, status, attempts, response_status: answer, error }) =>
      `${relay}: ${status} after ${attempts} attempts${answer === null ? '' : `, answered ${answer}`}${error === null ? '' : ` (${error})`}`,
  );
  return {
    station,
    state: deliveries.value.some(({ status }) => status === 'pending') ? 'waiting' : 'done',
    message: said.join('; '),
  };
}

/** The normaliser has not committed beyond the place. */
function isInFlight({ evidence: { progress, normalised: at }, offset, place }: Facts): boolean {
  if (place === undefined || offset === undefined || !progress.known) return false;
  if ((progress.value.normaliser ?? 0) <= offset) return true;
  return (
    at.known &&
    at.value !== undefined &&
    (progress.value.groups.get('events-sink') ?? 0) <= at.value
  );
}

function expiredText({ evidence: { retention, now }, sighting }: Facts): string | undefined {
  if (!sighting) return undefined;
  const own =
    retention.known && retention.value !== undefined && retention.value > 0
      ? retention.value
      : KEPT_DAYS;
  const days = Math.min(own, KEPT_DAYS);
  const age = now - sighting.timestamp;
  if (age < days * DAY) return undefined;
  return `expired: its own time is ${spanText(age)} ago, and ${days === KEPT_DAYS ? 'events are kept 400 days' : `the account keeps ${days} days`}`;
}

function away(station: string, asked: Extract<Asked<unknown>, { known: false }>): Stage {
  return { station, state: 'away', message: `could not be asked: ${asked.why}` };
}
