import { isProfileColumn } from '../../events/traits.ts';

/** The stored state of one distinct id, as far as messages read it. */
export interface StoredProfile {
  /** Profile columns; an empty text is not set. */
  columns: Readonly<Record<string, string>>;
  traits: Readonly<Record<string, string>>;
  /** Of the traits that are numbers or booleans, too. */
  numbers: Readonly<Record<string, number>>;
  /** When each trait and column was written, in the order of texts; empty: it does not matter. */
  stamps: Readonly<Record<string, string>>;
}

/** UTF-8 bytes of the texts of a person's variables; longer profiles are cut, column by column. */
const MAX_BYTES = 64 * 1024;

/**
 * The profile of a person under all names: each trait and column by its newest write, with its
 * number (the view `people` in projections/profiles/ddl does the same).
 */
export function mergeProfiles(profiles: readonly StoredProfile[]): StoredProfile | undefined {
  const [first, ...others] = profiles;
  if (!first || others.length === 0) return first;
  const merged = {
    columns: { ...first.columns },
    traits: { ...first.traits },
    numbers: { ...first.numbers },
    stamps: { ...first.stamps },
  };
  const isNewer = (key: string, order: string | undefined): boolean =>
    (order ?? '') > (merged.stamps[key] ?? '');
  for (const { columns, traits, numbers, stamps } of others) {
    for (const [key, text] of Object.entries(columns))
      if (isNewer(key, stamps[key])) merged.columns[key] = text;
    for (const [key, text] of Object.entries(traits)) {
      if (!isNewer(key, stamps[key]) && Object.hasOwn(merged.traits, key)) continue;
      merged.traits[key] = text;
      const number = numbers[key];
      if (number === undefined) Reflect.deleteProperty(merged.numbers, key);
      else merged.numbers[key] = number;
    }
    for (const [key, order] of Object.entries(stamps))
      if (isNewer(key, order)) merged.stamps[key] = order;
  }
  return merged;
}

/**
 * Variables `user.*` of templates. A trait that was sent as a number or boolean is one again; what
 * is not set has no variable.
 */
export function profileVariables(profile: StoredProfile | undefined): Record<string, unknown> {
  if (!profile) return {};
  const variables: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  let bytes = 0;
  for (const [key, text] of [
    ...Object.entries(profile.columns),
    ...Object.entries(profile.traits),
  ]) {
    if (text === '') continue;
    bytes += Buffer.byteLength(key) + Buffer.byteLength(text);
    if (bytes > MAX_BYTES) break;
    variables[key] = valueOf(key, text, profile.numbers[key]);
  }
  return variables;
}

function valueOf(key: string, text: string, number: number | undefined): unknown {
  const isFlag = isProfileColumn(key) ? key.endsWith('_opt_in') : number !== undefined;
  if (isFlag && text === 'true') return true;
  if (isFlag && text === 'false') return false;
  return isProfileColumn(key) ? text : (number ?? text);
}
