import type { InboxEntry } from '../../../platform/inbox/inbox-entries.ts';
import { errorText } from '../../../platform/redaction/redact-text.ts';
import { shortDetail } from '../detail.ts';
import { ConfigFields } from '../config-fields.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderMessage } from '../provider.ts';
import { tooLarge, wrongTarget } from '../unsendable.ts';
import { EntryBatches } from './entry-batches.ts';

/** Of title, text, url and data. */
const MAX_BYTES = 32 * 1024;

/** It has nothing to set. */
export function parseInAppConfig(json: unknown): object {
  new ConfigFields('inapp', json, []);
  return {};
}

/**
 * The inbox of an app. An entry has the message id as its id and is stored once: whatever
 * PostgreSQL answered before, the message is tried again.
 */
export function openInApp(_config: object, { channel, accountId, deps }: Opening): Provider {
  const batches = new EntryBatches(deps.database);
  return {
    channel,
    name: 'inapp',
    isIdempotent: true,
    async send(message, { signal }) {
      const { to } = message;
      if (to.kind !== 'inbox' || to.accountId !== accountId) return wrongTarget('inapp', to);
      if (signal.aborted)
        return { kind: 'retry', reason: 'aborted', detail: 'aborted before it was stored' };
      const entry = entryOf(message, { accountId, userId: to.userId, createdAt: deps.now() });
      if (Buffer.byteLength(JSON.stringify(entry)) > MAX_BYTES) return tooLarge(MAX_BYTES);
      try {
        await batches.add(entry);
        return { kind: 'accepted', providerMessageId: message.messageId };
      } catch (error) {
        return { kind: 'retry', reason: 'unavailable', detail: shortDetail(errorText(error)) };
      }
    },
    close: () => Promise.resolve(),
  };
}

/** Data without what PostgreSQL does not store. */
function entryOf(
  { content, messageId }: ProviderMessage,
  of: { accountId: number; userId: string; createdAt: number },
): InboxEntry {
  const { title, text, url, data } = content;
  const entry: InboxEntry = { ...of, id: messageId, title, body: text };
  if (url !== '') entry.url = url;
  if (Object.keys(data).length > 0) entry.data = data;
  return entry;
}
