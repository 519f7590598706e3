import { channelChange } from '../../events/channels/channel-change.ts';
import { optionalText, RefusedChange } from '../../events/channels/fields.ts';
import { isVerifiedUser } from '../../events/channels/inbox-credential.ts';
import { fitsBytes } from '../../events/bytes.ts';
import { MAX_ID_BYTES } from '../../events/event-name.ts';
import type { ChannelRequest, ChannelRoute } from '../channels/channel-server.ts';
import type { CommandWriter } from '../../ingest/command-writer.ts';
import type { Answer } from '../http/render.ts';
import type { InboxSecrets } from './inbox-secrets.ts';
import type { InboxStore, InboxUser } from './inbox-store.ts';
import { INBOX_FIELDS, readInboxRequest, type InboxRequest } from './read-inbox-request.ts';

export interface InboxPorts {
  store: Pick<InboxStore, 'unread' | 'markRead' | 'list'>;
  secrets: Pick<InboxSecrets, 'isSigned'>;
  writer: Pick<CommandWriter, 'write'>;
  onFailed: (error: unknown, trace: string) => void;
}

const failure = (status: number, error: string): Answer => ({
  status,
  body: JSON.stringify({ error }),
});
const REQUIRED = failure(400, 'user_id is required');
const TOO_LONG = failure(400, `user_id is too long: at most ${MAX_ID_BYTES} bytes`);
const NOT_VERIFIED = failure(403, 'user identity is not verified');
const UNAVAILABLE = failure(503, 'temporarily unavailable, please retry');

/** The route in the table of the ingest host. */
export const INBOX_PATH = '/v1/inbox';

/** The text stands under both names: those of this route, and of what refuses before a route. */
const MALFORMED: Answer = {
  status: 400,
  body: JSON.stringify({ status: 'error', message: 'malformed JSON', error: 'malformed JSON' }),
};

/**
 * POST /v1/inbox (ingest 4.2, 5.2, 7.4): the entries of a user whom the app's backend vouches for.
 * What is read is durable as a command before the answer, and stored at once, so that other tabs
 * see it. The answer is read after that: it shows the reads of all tabs until then.
 */
export function inboxRoute(ports: InboxPorts): ChannelRoute {
  return {
    method: 'POST',
    path: INBOX_PATH,
    fields: INBOX_FIELDS,
    malformed: MALFORMED,
    answer: (request) => serveInbox(request, ports),
  };
}

async function serveInbox(request: ChannelRequest, ports: InboxPorts): Promise<Answer> {
  const { body, principal, receivedAt: now } = request;
  const userId = optionalText(body, 'user_id');
  if (userId === '') return REQUIRED;
  if (!fitsBytes(userId, MAX_ID_BYTES)) return TOO_LONG;
  const { user_hash: hash, user_token: token } = body;
  const credential = { userId, appId: principal.appId, hash, token };
  try {
    const isVerified = await ports.secrets.isSigned(principal, (secrets) =>
      isVerifiedUser(credential, { secrets, now }),
    );
    if (!isVerified) return NOT_VERIFIED;
    const wanted = readInboxRequest(body);
    const user = { accountId: principal.accountId, userId };
    if (!(await markRead({ request, user, read: wanted.read }, ports))) return UNAVAILABLE;
    return { status: 200, body: JSON.stringify(await ports.store.list(user, wanted)) };
  } catch (error) {
    if (error instanceof RefusedChange) return failure(400, error.message);
    ports.onFailed(error, request.trace);
    return UNAVAILABLE;
  }
}

/**
 * False when the read is not durable. The command names the entries that were unread, so that it
 * means the same whenever it is applied again; a request that reads nothing new has none.
 */
async function markRead(
  {
    request,
    user,
    read,
  }: { request: ChannelRequest; user: InboxUser } & Pick<InboxRequest, 'read'>,
  { store, writer }: InboxPorts,
): Promise<boolean> {
  if (read.length === 0) return true;
  const ids = await store.unread(user, read);
  if (ids.length === 0) return true;
  const { principal, receivedAt, trace } = request;
  const change = channelChange({
    ...{ kind: 'inbox_read', channel: 'inapp', user_id: user.userId },
    inbox: { ids },
  });
  if (!(await writer.write(change, { principal, receivedAt, trace, source: 'sdk' }))) return false;
  await store.markRead({ ...user, ids, at: receivedAt });
  return true;
}
