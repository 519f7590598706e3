import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import { DEFAULT_SETTINGS, type FrequencyCap, type MessageSettings } from './settings.ts';

/**
 * Settings as they are stored and entered: texts by name. A name that is absent, or empty, has its
 * default.
 */
export type SettingTexts = Readonly<Partial<Record<SettingName, string>>>;

interface SettingForm {
  expects: string;
  /** Undefined when the text cannot be read. */
  parse: (text: string) => Partial<MessageSettings> | undefined;
}

const MAX_MESSAGES = 1000;
/** A frequency cap looks back a month at most. */
const MAX_HOURS = 31 * 24;
const MAX_PER_SECOND = 100_000;
const MAX_RUNS = 1000;

const FORMS = {
  consent_default: {
    expects: 'allow or deny',
    parse: (text) => (text === 'allow' || text === 'deny' ? { consentDefault: text } : undefined),
  },
  frequency_cap: {
    expects: `N/HOURS for every channel, or CHANNEL:N/HOURS for one, comma-separated, such as 3/24,sms:1/48; N from 1 to ${MAX_MESSAGES}, HOURS from 1 to ${MAX_HOURS}; channels: ${CHANNELS.join(', ')}`,
    parse: (text) => {
      const frequencyCaps = parseCaps(text);
      return frequencyCaps && { frequencyCaps };
    },
  },
  quiet_hours: {
    expects: 'HH:MM-HH:MM in Tehran, such as 22:00-08:00, whose end differs from its beginning',
    parse: (text) => {
      const [, ...parts] = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(text) ?? [];
      const [fromHour = 99, fromMinute = 0, toHour = 99, toMinute = 0] = parts.map(Number);
      if (Math.max(fromHour, toHour) > 23 || Math.max(fromMinute, toMinute) > 59) return undefined;
      const quietHours = { from: fromHour * 60 + fromMinute, to: toHour * 60 + toMinute };
      return quietHours.from === quietHours.to ? undefined : { quietHours };
    },
  },
  approval_required: {
    expects: 'true or false',
    parse: (text) =>
      text === 'true' || text === 'false' ? { approvalRequired: text === 'true' } : undefined,
  },
  max_messages_per_second: {
    expects: `a whole number from 1 to ${MAX_PER_SECOND}`,
    parse: (text) => {
      const maxPerSecond = whole(text, MAX_PER_SECOND);
      return maxPerSecond === undefined ? undefined : { maxPerSecond };
    },
  },
  max_active_runs: {
    expects: `a whole number from 1 to ${MAX_RUNS}`,
    parse: (text) => {
      const maxActiveRuns = whole(text, MAX_RUNS);
      return maxActiveRuns === undefined ? undefined : { maxActiveRuns };
    },
  },
} as const satisfies Record<string, SettingForm>;

export type SettingName = keyof typeof FORMS;
export const SETTING_NAMES = Object.keys(FORMS) as SettingName[];

export function isSettingName(text: string): text is SettingName {
  return Object.hasOwn(FORMS, text);
}

/** What is wrong with the text of a setting; undefined: nothing. An empty one is the default. */
export function settingProblem(name: SettingName, text: string): string | undefined {
  const { expects, parse } = FORMS[name];
  return text === '' || parse(text) !== undefined ? undefined : `${name}: expected ${expects}`;
}

/** Settings from their texts. Throws an Error for one that cannot be read. */
export function parseSettingTexts(texts: SettingTexts): MessageSettings {
  let settings = DEFAULT_SETTINGS;
  const unknown = Object.keys(texts).find((name) => !isSettingName(name));
  if (unknown !== undefined) throw new Error(`${unknown}: this version has no such setting`);
  for (const name of SETTING_NAMES) {
    const text = texts[name] ?? '';
    const problem = settingProblem(name, text);
    if (problem !== undefined) throw new Error(problem);
    settings = { ...settings, ...(text === '' ? {} : FORMS[name].parse(text)) };
  }
  return settings;
}

/** A cap for every channel comes before those of single ones, wherever it stands. */
function parseCaps(text: string): MessageSettings['frequencyCaps'] | undefined {
  const caps: Partial<Record<Channel, FrequencyCap>> = {};
  const parts = text.split(',').map((part) => /^(?:([a-z]+):)?(\d{1,4})\/(\d{1,3})$/.exec(part));
  for (const part of parts.toSorted((a, b) => Number(!!a?.[1]) - Number(!!b?.[1]))) {
    const [, only, messages, hours] = part ?? [];
    const cap = { messages: whole(messages, MAX_MESSAGES), hours: whole(hours, MAX_HOURS) };
    const channels = CHANNELS.filter((channel) => only === undefined || only === channel);
    if (cap.messages === undefined || cap.hours === undefined || channels.length === 0)
      return undefined;
    for (const channel of channels) caps[channel] = { messages: cap.messages, hours: cap.hours };
  }
  return caps;
}

function whole(text: string | undefined, max: number): number | undefined {
  const value = /^\d{1,9}$/.test(text ?? '') ? Number(text) : 0;
  return value >= 1 && value <= max ? value : undefined;
}
