import { fitsBytes, utf8Length, wellFormed } from '../../bytes.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { parseRfc3339 } from '../../rfc3339.ts';
import { RefusedChange } from '../fields.ts';
import {
  FREQUENCIES,
  ONSITE_KINDS,
  ONSITE_LIMITS as LIMITS,
  URL_OPERATORS,
  type OnsiteCampaign,
  type UrlCondition,
} from './definition.ts';
import { readFields } from './read-fields.ts';
import { objectAt, oneOf } from './read-values.ts';

/**
 * Reads the body of `admin onsite create`. Throws RefusedChange, whose message says what is wrong
 * and where. Unknown keys are ignored; the audience is read by `readAudience`, which answers why it
 * is none.
 */
export function readOnsiteCampaign(
  body: unknown,
  readAudience: (audience: JsonObject) => string | undefined,
): OnsiteCampaign {
  if (!isJsonObject(body)) throw new RefusedChange('the campaign is not a JSON object');
  const kind = oneOf(body['kind'], ONSITE_KINDS, 'kind');
  const targeting = body['targeting'] ?? {};
  const { url, audience } = objectAt(targeting, 'targeting');
  const startsAt = readTime(body, 'starts_at');
  const endsAt = readTime(body, 'ends_at');
  if (startsAt !== undefined && endsAt !== undefined && endsAt <= startsAt)
    throw new RefusedChange('ends_at is not after starts_at');
  return {
    name: readName(body['name']),
    definition: {
      kind,
      content: readContent(body['content']),
      fields: readFields(body['fields']),
      url: readUrl(url),
      frequency: oneOf(body['frequency'], FREQUENCIES, 'frequency'),
    },
    audience: readTargetAudience(audience, readAudience),
    ...{ startsAt, endsAt },
  };
}

function readName(sent: unknown): string {
  const name = typeof sent === 'string' ? wellFormed(sent).trim() : '';
  if (name === '') throw new RefusedChange('name is required: a text');
  if (name.length > LIMITS.nameCharacters)
    throw new RefusedChange(`name is longer than ${LIMITS.nameCharacters} characters`);
  return name;
}

function readContent(sent: unknown): unknown {
  if (sent === undefined || sent === null)
    throw new RefusedChange('content is required: what the SDK shows');
  if (utf8Length(JSON.stringify(sent)) > LIMITS.contentBytes)
    throw new RefusedChange(`content is longer than ${LIMITS.contentBytes} bytes of JSON`);
  return sent;
}

function readUrl(sent: unknown): UrlCondition[] {
  const list = sent ?? [];
  if (!Array.isArray(list))
    throw new RefusedChange('targeting.url is not a list of {op, value} conditions');
  if (list.length > LIMITS.urlConditions)
    throw new RefusedChange(`targeting.url has more than ${LIMITS.urlConditions} conditions`);
  return list.map((one: unknown, index) => {
    const at = `targeting.url[${index}]`;
    const { op, value } = objectAt(one, at);
    if (typeof value !== 'string' || value === '' || !fitsBytes(value, LIMITS.urlBytes))
      throw new RefusedChange(`${at}.value is not a text of 1 to ${LIMITS.urlBytes} bytes`);
    return { op: oneOf(op, URL_OPERATORS, `${at}.op`), value: wellFormed(value) };
  });
}

function readTargetAudience(
  sent: unknown,
  readAudience: (audience: JsonObject) => string | undefined,
): JsonObject | undefined {
  if (sent === undefined || sent === null) return undefined;
  const audience = objectAt(sent, 'targeting.audience');
  const problem = readAudience(audience);
  if (problem !== undefined) throw new RefusedChange(`targeting.audience: ${problem}`);
  return audience;
}

function readTime(body: JsonObject, field: 'starts_at' | 'ends_at'): number | undefined {
  const sent = body[field] ?? undefined;
  if (sent === undefined) return undefined;
  const time = typeof sent === 'string' ? parseRfc3339(sent) : NaN;
  if (Number.isNaN(time))
    throw new RefusedChange(`${field} is not an RFC 3339 time, such as 2026-03-21T09:00:00+03:30`);
  return time;
}
