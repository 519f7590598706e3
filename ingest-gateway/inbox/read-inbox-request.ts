import { RefusedChange } from '../../events/channels/fields.ts';
import type { JsonObject } from '../../events/json.ts';
import type { InboxPage } from './inbox-store.ts';

/** The members of the body that POST /v1/inbox reads. */
export const INBOX_FIELDS = [
  ...['user_id', 'user_hash', 'user_token'],
  ...['limit', 'before', 'read', 'read_all'],
];

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
/** An inbox has as many entries (0051_inbox.sql). */
const MAX_READ = 1000;

/** What a request marks as read, and which entries it wants. */
export interface InboxRequest extends InboxPage {
  read: 'all' | readonly string[];
}

/** Reads the members that are no credential. Throws RefusedChange with the text for the client. */
export function readInboxRequest(body: JsonObject): InboxRequest {
  const { read_all: all = false, before } = body;
  if (typeof all !== 'boolean' && all !== null)
    throw new RefusedChange('read_all is neither true nor false');
  if (before !== undefined && before !== null && typeof before !== 'string')
    throw new RefusedChange('before is not the id of a message');
  const read = readIds(body['read'] ?? []);
  return {
    limit: readLimit(body['limit'] ?? DEFAULT_LIMIT),
    before: before ?? undefined,
    read: all === true ? 'all' : read,
  };
}

function readLimit(sent: unknown): number {
  if (typeof sent !== 'number' || !Number.isInteger(sent) || sent < 0)
    throw new RefusedChange('limit is not a whole number from 0');
  return Math.min(sent, MAX_LIMIT);
}

function readIds(sent: unknown): string[] {
  const refusal = () => new RefusedChange(`read is not a list of at most ${MAX_READ} message ids`);
  if (!Array.isArray(sent) || sent.length > MAX_READ) throw refusal();
  return sent.map((id: unknown) => {
    if (typeof id !== 'string') throw refusal();
    return id;
  });
}
