import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import { RefusedChange } from '../../events/channels/fields.ts';
import { utf8Length, wellFormed } from '../../events/bytes.ts';
import { isJsonObject, type JsonObject } from '../../events/json.ts';
import {
  CATEGORIES,
  MAX_CONTENT_BYTES,
  MAX_NAME_CHARACTERS,
  type TemplateContent,
  type TemplateDraft,
} from './template.ts';

/** A mistake in a part of a template; line and column from 1. */
export interface TemplateProblem {
  field: string;
  line?: number | undefined;
  column?: number | undefined;
  message: string;
}

/** Checks the Liquid of a content; messaging/rendering does. */
export type CheckTemplate = (
  content: TemplateContent,
  channel: Channel,
) => readonly TemplateProblem[];

const TEXT_PARTS = ['subject', 'title', 'text', 'html', 'url'] as const;
const KEYS: readonly string[] = ['name', 'channel', 'category', ...TEXT_PARTS, 'data'];
const MAX_DATA_KEYS = 50;

/** Parts without which a message of the channel has no content: one of each group. */
const REQUIRED: Readonly<Record<Channel, readonly (readonly (keyof TemplateContent)[])[]>> = {
  email: [['subject'], ['text', 'html']],
  sms: [['text']],
  push: [['title', 'text', 'data']],
  web: [['title', 'text']],
  inapp: [['title', 'text']],
  bale: [['text']],
  eitaa: [['text']],
  rubika: [['text']],
};

/**
 * Reads the body of `admin template create`. Throws RefusedChange, whose message says what is wrong
 * and where.
 */
export function readTemplateDraft(sent: unknown, check: CheckTemplate): TemplateDraft {
  if (!isJsonObject(sent)) throw new RefusedChange('the template is not a JSON object');
  const unknown = Object.keys(sent).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    throw new RefusedChange(`a template has no ${unknown}: it has ${KEYS.join(', ')}`);
  const channel = oneOf(sent, { field: 'channel', values: CHANNELS });
  const category = oneOf(sent, { field: 'category', values: CATEGORIES });
  const content = readContent(sent);
  for (const parts of REQUIRED[channel])
    if (!parts.some((part) => isPresent(content[part])))
      throw new RefusedChange(`a template of the channel ${channel} needs ${parts.join(' or ')}`);
  const problems = check(content, channel);
  if (problems.length > 0) throw new RefusedChange(problems.map(sentenceOf).join('\n'));
  return { name: readName(sent), channel, category, content };
}

function readName({ name: sent }: JsonObject): string {
  const name = typeof sent === 'string' ? wellFormed(sent).trim() : '';
  if (name === '') throw new RefusedChange('name is required: a text');
  if (name.length > MAX_NAME_CHARACTERS)
    throw new RefusedChange(`name is longer than ${MAX_NAME_CHARACTERS} characters`);
  return name;
}

function readContent(sent: JsonObject): TemplateContent {
  const content: { -readonly [Part in keyof TemplateContent]: TemplateContent[Part] } = {};
  for (const part of TEXT_PARTS) {
    const text = sent[part] ?? undefined;
    if (text === undefined) continue;
    if (typeof text !== 'string') throw new RefusedChange(`${part} is not a text`);
    content[part] = wellFormed(text);
  }
  const data = sent['data'] ?? undefined;
  if (data !== undefined) content.data = readData(data);
  if (utf8Length(JSON.stringify(content)) > MAX_CONTENT_BYTES)
    throw new RefusedChange(`the template is longer than ${MAX_CONTENT_BYTES} bytes`);
  return content;
}

function readData(sent: unknown): Record<string, string> {
  if (!isJsonObject(sent)) throw new RefusedChange('data is not an object of texts');
  const entries = Object.entries(sent);
  if (entries.length > MAX_DATA_KEYS)
    throw new RefusedChange(`data has more than ${MAX_DATA_KEYS} keys`);
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (typeof value !== 'string') throw new RefusedChange(`data.${key} is not a text`);
      return [wellFormed(key), wellFormed(value)];
    }),
  );
}

function oneOf<const Value extends string>(
  sent: JsonObject,
  { field, values }: { field: string; values: readonly Value[] },
): Value {
  const found = values.find((value) => value === sent[field]);
  if (found === undefined) throw new RefusedChange(`${field} is not one of ${values.join(', ')}`);
  return found;
}

function isPresent(part: TemplateContent[keyof TemplateContent]): boolean {
  return typeof part === 'string' ? part.trim() !== '' : part !== undefined;
}

function sentenceOf({ field, line, column, message }: TemplateProblem): string {
  const at = line === undefined ? '' : `, line ${line}${column ? `, column ${column}` : ''}`;
  return `${field}${at}: ${message}`;
}
