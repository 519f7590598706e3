import Type from 'typebox';
import type { JsonObject } from '../../events/json.ts';
import { parseRfc3339 } from '../../events/rfc3339.ts';
import { DEFAULT_TIME_ZONE, instances } from '../recurrence/instances.ts';
import { isTimeZone } from '../recurrence/local-clock.ts';
import { parseRule } from '../recurrence/parse-rule.ts';
import type { Recurrence } from './state.ts';

/** The body of PUT /v1/campaigns/{id}/recurrence. */
export const recurrenceRequestSchema = Type.Object({
  rule: Type.String({
    description: 'RFC 5545, with RSCALE=PERSIAN of RFC 7529, such as FREQ=MONTHLY;BYMONTHDAY=31',
  }),
  starts_at: Type.String({ format: 'date-time' }),
  time_zone: Type.Optional(Type.String({ default: DEFAULT_TIME_ZONE })),
});

/** Times shown of a recurrence. */
const SHOWN = 3;
/** A start that is over for longer is no instance any more. */
const LATE_MS = 3_600_000;
const MAX_TIME_ZONE = 100;

export type RecurrenceOutcome =
  /** `next`: its next instances, ms since the epoch; never empty. */
  | { ok: true; recurrence: Recurrence; next: [number, ...number[]] }
  | { ok: false; message: string };

/**
 * Reads a recurrence. Its first instance is the first of the rule at or after starts_at; of one
 * that started earlier, the first after `now`.
 */
export function readRecurrence(body: JsonObject, now: number): RecurrenceOutcome {
  const { rule: text, starts_at: startsAt, time_zone: zone } = body;
  if (typeof text !== 'string') return invalid('rule is required: a recurrence rule of RFC 5545');
  const parsed = parseRule(text);
  if (!parsed.ok) return invalid(`rule: ${parsed.message}`);
  const start = typeof startsAt === 'string' ? parseRfc3339(startsAt) : NaN;
  if (!Number.isFinite(start) || typeof startsAt !== 'string')
    return invalid('starts_at is not an RFC 3339 time, such as 2026-03-21T09:00:00+03:30');
  const timeZone = zone ?? DEFAULT_TIME_ZONE;
  if (typeof timeZone !== 'string' || timeZone.length > MAX_TIME_ZONE || !isTimeZone(timeZone))
    return invalid('time_zone is not a name of the time zone database, such as Asia/Tehran');
  // Readers parse it with Date.parse.
  const written = Date.parse(startsAt) === start ? startsAt : new Date(start).toISOString();
  const recurrence = { rule: text, starts_at: written, time_zone: timeZone };
  const [first, ...more] = nextInstances(recurrence, start >= now - LATE_MS ? start - 1 : now);
  if (first === undefined) return invalid('rule: all of its instances are over');
  return { ok: true, recurrence, next: [first, ...more] };
}

/** The next three instances of a stored recurrence after a time, ms since the epoch. */
export function nextInstances(recurrence: Recurrence, after: number): number[] {
  const parsed = parseRule(recurrence.rule);
  if (!parsed.ok) throw new Error(parsed.message);
  const startsAt = Date.parse(recurrence.starts_at);
  const found: number[] = [];
  for (const at of instances(parsed.rule, { startsAt, timeZone: recurrence.time_zone, after })) {
    found.push(at);
    if (found.length === SHOWN) break;
  }
  return found;
}

function invalid(message: string): RecurrenceOutcome {
  return { ok: false, message };
}
