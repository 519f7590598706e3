import { UnreadableRule } from './rule-values.ts';
import type { Until } from './rule.ts';

const DAY_MS = 86_400_000;

/**
 * UNTIL of RFC 5545: `20261231` (the whole day), `20261231T090000` (local time) or
 * `20261231T053000Z`. Gregorian with every RSCALE (RFC 7529, section 4.1).
 */
export function parseUntil(text: string): Until {
  const [, date = '', time, zone] = /^(\d{8})(?:T(\d{6})(Z)?)?$/.exec(text) ?? [];
  const at = Date.parse(`${pairs(date, '-', 4)}T${pairs(time ?? '000000', ':', 2)}Z`);
  // V8 carries day 31 of a short month over; a Gregorian date names itself.
  if (Number.isNaN(at) || compactDate(at) !== date)
    throw new UnreadableRule(
      `UNTIL=${text} is not a date: write 20261231, 20261231T090000 (local time) or 20261231T053000Z (UTC).`,
    );
  if (date < '1900')
    throw new UnreadableRule(
      `UNTIL=${text}: UNTIL is a Gregorian date also with RSCALE=PERSIAN. Write the Gregorian date, such as 20261231.`,
    );
  if (zone) return { kind: 'instant', at };
  return { kind: 'local', at: time === undefined ? at + DAY_MS - 1 : at };
}

/** `20261231` with a head of 4 as `2026-12-31`. */
function pairs(digits: string, separator: string, head: number): string {
  const rest = digits.slice(head).match(/../g) ?? [];
  return [digits.slice(0, head), ...rest].join(separator);
}

function compactDate(at: number): string {
  return new Date(at).toISOString().slice(0, 10).replaceAll('-', '');
}
