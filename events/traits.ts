import { truncateBytes, wellFormed } from './bytes.ts';
import { foldGender } from './gender.ts';
import { parseIranianMobile } from './iran-phone.ts';
import type { JsonObject } from './json.ts';
import { normaliseKey } from './keys.ts';
import { parseNationalId } from './national-id.ts';
import { textOf, writeValue, inspectValue, type ValueMaps } from './properties.ts';
import { MAX_KEYS, MAX_VALUE_BYTES } from './values.ts';
import { fixedWarning, tooMany, type WarningSink } from './warnings.ts';

/** The traits that become columns of the profile and are not in the free-form maps (ingest 2.3). */
export const PROFILE_COLUMNS = [
  'email',
  'phone',
  'first_name',
  'last_name',
  'gender',
  'birthday',
  'national_id',
  'city',
  'region',
  'country',
  'language',
  'timezone',
  'push_opt_in',
  'email_opt_in',
  'sms_opt_in',
] as const;

export type ProfileColumn = (typeof PROFILE_COLUMNS)[number];

const COLUMNS: ReadonlySet<string> = new Set(PROFILE_COLUMNS);

/** True for the fifteen traits that are columns of the profile. */
export function isProfileColumn(key: string): key is ProfileColumn {
  return COLUMNS.has(key);
}

/** The free trait that a valid phone sets besides its column. */
const PHONE_OPERATOR = 'phone_operator';

/** What an event writes to the profile of its person. */
export interface NormalisedTraits extends ValueMaps {
  /** Text of each profile column that the event sets; booleans 'true' or 'false'. */
  columns: Partial<Record<ProfileColumn, string>>;
}

/**
 * Traits as they are stored (ingest 2.3, "Special traits"). Nulls are skipped before counting; the
 * first 256 others are kept. phone_operator is added on top and wins over a trait of that name that
 * the client sent together with a valid phone.
 */
export function normaliseTraits(traits: JsonObject | undefined): NormalisedTraits {
  const result: NormalisedTraits = { columns: {}, text: {}, numbers: {} };
  if (traits === undefined) return result;
  let kept = 0;
  let mayCollide = false;
  for (const sent in traits) {
    const value = traits[sent];
    if (value === null) continue;
    if (++kept > MAX_KEYS) break;
    const key = normaliseKey(sent);
    mayCollide ||= key !== sent;
    if (isProfileColumn(key)) {
      const text = columnText(key, value);
      if (text !== undefined) result.columns[key] = text;
    } else if (key !== '') writeValue(result, { key, value, mayCollide });
  }
  const operator =
    result.columns.phone === undefined
      ? undefined
      : parseIranianMobile(result.columns.phone)?.operator;
  if (operator !== undefined)
    writeValue(result, { key: PHONE_OPERATOR, value: operator, mayCollide: true });
  return result;
}

/** The stored text of a profile column; undefined when nothing is written. */
function columnText(column: ProfileColumn, value: unknown): string | undefined {
  switch (column) {
    case 'email': {
      const sent = sentText(value);
      return sent === undefined
        ? undefined
        : truncateBytes(sent.trim().toLowerCase(), MAX_VALUE_BYTES);
    }
    case 'phone': {
      const sent = sentText(value);
      return sent === undefined
        ? undefined
        : (parseIranianMobile(sent)?.e164 ?? truncateBytes(sent, MAX_VALUE_BYTES));
    }
    case 'national_id': {
      const sent = sentText(value);
      return sent === undefined ? undefined : parseNationalId(sent);
    }
    case 'gender': {
      const sent = sentText(value);
      return sent === undefined ? undefined : foldGender(sent);
    }
    default:
      return textOf(value);
  }
}

/** A value as text, strings exactly as sent: for traits with rules of their own. */
function sentText(value: unknown): string | undefined {
  return typeof value === 'string' ? wellFormed(value) : textOf(value);
}

/** Adds the warnings of the traits for the client; normaliseTraits stores accordingly. */
export function inspectTraits(traits: JsonObject, warnings: WarningSink): void {
  let sent = 0;
  for (const sentKey in traits) {
    const value = traits[sentKey];
    if (value === null || ++sent > MAX_KEYS) continue;
    if (typeof value === 'number' || typeof value === 'object')
      inspectValue(sentKey, value, warnings);
    const key = normaliseKey(sentKey);
    if (key !== 'phone' && key !== 'national_id') continue;
    const text = sentText(value);
    if (text === undefined) continue;
    if (key === 'phone' && parseIranianMobile(text) === undefined)
      warnings.push(fixedWarning('invalid_phone'));
    if (key === 'national_id' && parseNationalId(text) === undefined)
      warnings.push(fixedWarning('invalid_national_id'));
  }
  if (sent > MAX_KEYS) warnings.push(tooMany('too_many_traits', { sent, kept: MAX_KEYS }));
}
