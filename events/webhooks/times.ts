import { parseRfc3339 } from '../rfc3339.ts';
import { tehranOffset } from '../tehran-time.ts';

const ZONELESS = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}:\d{2}))?$/;
/** parseRfc3339 reads every year of this range. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * The first readable time of a delivery as RFC 3339 in UTC; undefined when there is none, which
 * means now (ingest 4.6). Accepts RFC 3339, and YYYY-MM-DDTHH:MM:SS, YYYY-MM-DD HH:MM:SS and
 * YYYY-MM-DD in Tehran's local time.
 */
export function deliveryTime(...texts: readonly string[]): string | undefined {
  for (const text of texts) {
    const time = readTime(text.trim());
    if (time >= EARLIEST && time <= LATEST) return new Date(time).toISOString();
  }
  return undefined;
}

function readTime(text: string): number {
  const zoneless = ZONELESS.exec(text);
  if (!zoneless) return parseRfc3339(text);
  const local = parseRfc3339(`${zoneless[1] ?? ''}T${zoneless[2] ?? '00:00:00'}Z`);
  return Number.isNaN(local) ? NaN : tehranInstant(local);
}

/**
 * The instant of a local time in Tehran (`local` as if it were UTC). In the hour that repeats when
 * daylight time ends, the later instant; a skipped local time counts as standard time.
 */
function tehranInstant(local: number): number {
  const standard = local - STANDARD;
  const offset = tehranOffset(standard);
  return offset === STANDARD || tehranOffset(local - offset) !== offset ? standard : local - offset;
}

const STANDARD = 3.5 * 3_600_000;
