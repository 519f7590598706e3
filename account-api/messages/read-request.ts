import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import { isJsonObject, type JsonObject } from '../../events/json.ts';
import type { TransactionalRequest } from '../../messaging/transactional/ports.ts';
import { exceedsStructure } from '../../platform/http/read-body.ts';

/** What a body of POST /v1/messages asks for. */
export interface MessageRequest extends Omit<TransactionalRequest, 'accountId' | 'receivedAt'> {
  category: 'transactional' | 'service';
}

/** A request that is refused; the message is the text of its 400 (management 7.6). */
export class RefusedMessage extends Error {
  override readonly name = 'RefusedMessage';
}

export const MAX_VARIABLES = 40;
const KEY = /^[A-Za-z0-9._:-]{8,200}$/;
/** Lists and objects in each other, and values: templates have no use for more. */
const STRUCTURE = { depth: 64, nodes: 10_000, elements: 10_000 };
export const MARKETING = 'transactional: this endpoint does not send marketing; use a campaign';

type Kind = 'string' | 'integer' | 'object';

const FIELDS: Readonly<Record<string, Kind>> = {
  user_id: 'string',
  template_id: 'integer',
  idempotency_key: 'string',
  channel: 'string',
  category: 'string',
  vars: 'object',
};

/**
 * Reads a body and the Idempotency-Key header, which counts when the body names no key. Throws
 * RefusedMessage for the first rule that is broken, in the order of management 7.6.
 */
export function readMessageRequest(bytes: Buffer, header: string | undefined): MessageRequest {
  const body = readFields(bytes);
  const text = (name: string) => (body[name] ?? '') as string;
  const userId = text('user_id');
  if (userId === '') throw refused('user_id is required');
  const templateId = (body['template_id'] ?? 0) as number;
  if (templateId === 0) throw refused('template_id is required');
  const idempotencyKey = text('idempotency_key') || (header ?? '');
  if (idempotencyKey === '') throw refused('idempotency_key is required');
  if (!KEY.test(idempotencyKey))
    throw refused(
      'idempotency_key must be 8\u2013200 characters of letters, digits, dot, dash, underscore or colon',
    );
  const channel = readChannel(text('channel'));
  const category = readCategory(text('category'));
  const vars = (body['vars'] ?? {}) as JsonObject;
  if (Object.keys(vars).length > MAX_VARIABLES) throw refused('too many variables');
  return { userId, templateId, idempotencyKey, channel, category, vars };
}

/** The fields that are not null, each of its type. */
function readFields(bytes: Buffer): JsonObject {
  if (exceedsStructure(bytes, STRUCTURE)) throw malformed('it holds too many values');
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw malformed((error as Error).message);
  }
  if (!isJsonObject(body)) throw malformed('the body is not an object');
  const sent = Object.entries(body).filter(([, value]) => value !== null);
  for (const [name] of Object.entries(body))
    if (!Object.hasOwn(FIELDS, name)) throw malformed(`unknown field ${JSON.stringify(name)}`);
  for (const [name, value] of sent) {
    const kind = FIELDS[name] ?? 'string';
    if (!isOfKind(value, kind)) throw malformed(`${name} is not ${EXPECTED[kind]}`);
  }
  return Object.fromEntries<unknown>(sent);
}

const EXPECTED: Readonly<Record<Kind, string>> = {
  string: 'a string',
  integer: 'a positive integer',
  object: 'an object',
};

function isOfKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'integer':
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case 'object':
      return isJsonObject(value);
  }
}

function readChannel(text: string): Channel {
  const channel = CHANNELS.find((one) => one === text);
  if (!channel) throw refused('unknown channel');
  return channel;
}

function readCategory(text: string): MessageRequest['category'] {
  if (text === 'marketing') throw new RefusedMessage(MARKETING);
  if (text === '' || text === 'transactional') return 'transactional';
  if (text === 'service') return 'service';
  throw malformed('category is neither transactional nor service');
}

function refused(rule: string): RefusedMessage {
  return new RefusedMessage(`transactional: ${rule}`);
}

function malformed(detail: string): RefusedMessage {
  return new RefusedMessage(`malformed JSON: ${detail}`);
}
