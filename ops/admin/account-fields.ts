import { parseRfc3339 } from '../../events/rfc3339.ts';
import { isAddressRange } from '../../platform/network/address-ranges.ts';
import { SETTING_NAMES } from '../../messaging/settings/setting-texts.ts';
import { CommandError } from '../../cli/command.ts';

export type AccountValue = string | number | boolean | null | readonly string[];

interface Field {
  expects: string;
  /** Answers undefined when the text cannot be read. */
  parse(text: string): AccountValue | undefined;
}

const whole = (
  min: number,
  max: number,
  expects = `a whole number from ${min} to ${max}`,
): Field => ({
  expects,
  parse: (text) =>
    /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? Number(text)
      : undefined,
});

const oneOf = (...names: string[]): Field => ({
  expects: `one of ${names.join(', ')}`,
  parse: (text) => (names.includes(text) ? text : undefined),
});

const retention: Field = {
  expects: '0 (for ever) or a whole number of days from 30 to 3650',
  parse: (text) => (text === '0' ? 0 : whole(30, 3650).parse(text)),
};

/** What `account set` can change, by column (management 8 and 3.1, ingest 2.4 and 8). */
export const ACCOUNT_FIELDS: Readonly<Record<string, Field>> = {
  status: oneOf('active', 'suspended'),
  subscription: oneOf('active', 'trial', 'trial_ended', 'cancelled'),
  retention_days: retention,
  max_events: whole(
    0,
    Number.MAX_SAFE_INTEGER,
    'a whole number of events a Jalali month; 0 means no ceiling',
  ),
  included_events: whole(0, Number.MAX_SAFE_INTEGER, 'a whole number of events'),
  included_profiles: whole(0, Number.MAX_SAFE_INTEGER, 'a whole number of profiles'),
  invoice_due_at: {
    expects: 'an RFC 3339 time such as 2026-08-01T00:00:00Z, or nothing to clear it',
    parse: (text) => {
      if (text === '') return null;
      const at = parseRfc3339(text);
      return Number.isNaN(at) ? undefined : new Date(at).toISOString();
    },
  },
  payment_declared: {
    expects: 'true or false',
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  },
  api_rate_per_minute: {
    expects:
      'a whole number of requests a minute (0 switches metering off), or nothing for the default of the installation',
    parse: (text) => (text === '' ? null : whole(0, 1_000_000_000).parse(text)),
  },
  ip_allow: {
    expects: 'IP addresses and CIDR ranges, comma-separated, or nothing to allow all',
    parse: (text) => {
      const ranges = text
        .split(',')
        .map((range) => range.trim())
        .filter((range) => range !== '');
      return ranges.every(isAddressRange) ? ranges : undefined;
    },
  },
};

/** What `account set` takes: settings of messages are read elsewhere (message-settings.ts). */
const KEYS = [...Object.keys(ACCOUNT_FIELDS), ...SETTING_NAMES];

/** Reads `KEY=VALUE` words. Throws CommandError for a bad one, and for none. */
export function parseAccountChanges(words: readonly string[]): Map<string, AccountValue> {
  if (words.length === 0)
    throw new CommandError(`nothing to set: give KEY=VALUE with a key of ${KEYS.join(', ')}`);
  const changes = new Map<string, AccountValue>();
  for (const word of words) {
    const split = word.indexOf('=');
    const key = split < 0 ? word : word.slice(0, split);
    const field = Object.hasOwn(ACCOUNT_FIELDS, key) ? ACCOUNT_FIELDS[key] : undefined;
    if (!field) throw new CommandError(`unknown key ${key}: the keys are ${KEYS.join(', ')}`);
    if (split < 0) throw new CommandError(`${key}: write it as ${key}=VALUE`);
    const value = field.parse(word.slice(split + 1).trim());
    if (value === undefined) throw new CommandError(`${word}: expected ${field.expects}`);
    changes.set(key, value);
  }
  return changes;
}
