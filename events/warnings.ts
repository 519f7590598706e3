/** An event was accepted with a correction (ingest 2.6). A closed set. */
export type WarningCode =
  | 'generated_message_id'
  | 'timestamp_in_future'
  | 'timestamp_too_old'
  | 'too_many_properties'
  | 'too_many_traits'
  | 'unserialisable_property'
  | 'invalid_phone'
  | 'invalid_national_id';

/** As the answer contains it; field and note are omitted when empty. */
export interface Warning {
  code: WarningCode;
  field?: string;
  note?: string;
}

/** Maximum number of warnings in an answer; the rest are only counted (ingest 2.6, 8). */
export const MAX_LISTED_WARNINGS = 50;

const WITHOUT_NOTE: Partial<Record<WarningCode, Warning>> = {
  generated_message_id: { code: 'generated_message_id', field: 'message_id' },
  timestamp_in_future: {
    code: 'timestamp_in_future',
    field: 'timestamp',
    note: 'set to the time of receipt',
  },
  timestamp_too_old: {
    code: 'timestamp_too_old',
    field: 'timestamp',
    note: 'set to the oldest time that this account takes',
  },
  invalid_phone: { code: 'invalid_phone', field: 'phone', note: 'stored as sent' },
  invalid_national_id: { code: 'invalid_national_id', field: 'national_id', note: 'not stored' },
};

/** The warning of a code with a fixed text; a shared object. */
export function fixedWarning(code: WarningCode): Warning {
  return WITHOUT_NOTE[code] ?? { code };
}

/** Collects the warnings of properties and traits. */
export type WarningSink = Warning[];

/** Warning for a map with more keys than are stored (ingest 2.3). */
export function tooMany(
  code: 'too_many_properties' | 'too_many_traits',
  counts: { sent: number; kept: number },
): Warning {
  return {
    code,
    field: code === 'too_many_properties' ? 'properties' : 'traits',
    note: `sent ${counts.sent}, kept ${counts.kept}`,
  };
}

/** Warning for an overflowing number in or under `key`, which JSON cannot encode (ingest 2.3). */
export function unserialisable(key: string): Warning {
  return {
    code: 'unserialisable_property',
    field: key,
    note: 'a number is out of range; the value is not stored',
  };
}
