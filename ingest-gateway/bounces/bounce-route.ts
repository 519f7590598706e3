import { readBounce, type Bounce } from '../../events/channels/bounce/read-bounce.ts';
import { channelChange, type ChannelChange } from '../../events/channels/channel-change.ts';
import type { TrackedMessage } from '../../events/channels/tracking-token.ts';
import { FairQueue } from '../../platform/fair-queue.ts';
import { readBody, type BodyBudget } from '../http/body.ts';
import {
  accountPrincipal,
  findRecipient,
  type Recipient,
  type RecipientOf,
  type RecordChange,
} from '../tracking/recipients.ts';
import {
  NOT_FOUND,
  plainText,
  TOO_LARGE,
  UNAVAILABLE_TEXT,
  UNREADABLE,
  type TextAnswer,
} from '../tracking/text-answer.ts';
import type { TrackedRequest, TrackedRoute } from '../tracking/tracked-server.ts';
import { exceeds } from './exceeds.ts';

/** Bytes of a mail, as sent and as decoded (ingest 8). */
const MAX_MAIL_BYTES = 1_048_576;
/** Reading the worst mail takes 60 ms of the thread: one at a time, accounts in turns. */
const READERS = { concurrency: 1, maxWaiting: { total: 256, perAccount: 64 } };
const OK = plainText(200, 'ok');

export interface BouncePorts {
  recipientOf: RecipientOf;
  record: RecordChange;
  budget: BodyBudget;
  onUnreachable: (error: unknown) => void;
}

/**
 * POST /v1/bounce/{local}: a mail that came to the local part of a bounce address
 * (docs/channels.md, Bounces). Plain text: 413, then 404, then 400; 503 when nothing can be read or
 * recorded.
 */
export function bounceRoute(ports: BouncePorts): TrackedRoute {
  const readers = new FairQueue(READERS);
  return {
    ...{ method: 'POST', path: '/v1/bounce/:local', purpose: 'bounce' },
    unavailable: UNAVAILABLE_TEXT,
    answer: (asked) => accept(ports, readers, asked),
  };
}

async function accept(
  ports: BouncePorts,
  readers: FairQueue,
  asked: TrackedRequest,
): Promise<TextAnswer | undefined> {
  const { tracked, request } = asked;
  const { budget } = ports;
  if (!tracked) {
    const turn = budget.turns.of(asked.ip);
    return (await exceeds(request, { limit: MAX_MAIL_BYTES, turn })) ? TOO_LARGE : NOT_FOUND;
  }
  const { accountId } = tracked;
  const mail = await readBody(request, { limit: MAX_MAIL_BYTES, budget, accountId });
  if (mail === 'client_gone') return undefined;
  if (mail === 'too_large') return TOO_LARGE;
  if (mail === 'overloaded') return UNAVAILABLE_TEXT;
  try {
    const found = await findRecipient(ports.recipientOf, tracked, ports.onUnreachable);
    if (found === 'unreachable') return UNAVAILABLE_TEXT;
    if (found === 'unknown') return NOT_FOUND;
    if (mail === 'undecodable') return UNREADABLE;
    const reading = readers.run(accountId, () => readBounce(mail, found.address));
    if (!reading) return UNAVAILABLE_TEXT;
    const bounce = await reading;
    if (!bounce) return UNREADABLE;
    const change = changeOf(bounce, found, tracked);
    return !change || (await recordBounce(ports, change, asked, tracked)) ? OK : UNAVAILABLE_TEXT;
  } finally {
    if (typeof mail !== 'string') budget.release(accountId, mail.length);
  }
}

/** Undefined when the mail changes nothing. */
function changeOf(
  { kind, reason }: Bounce,
  { userId, channel, address }: Recipient,
  { ref }: TrackedMessage,
): ChannelChange | undefined {
  const about = { channel, user_id: userId, address_id: address };
  switch (kind) {
    case 'hard':
      return channelChange({
        ...about,
        kind: 'address_suppressed',
        reason: `hard_bounce ${reason}`,
      });
    case 'complaint':
      return channelChange({ ...about, kind: 'address_suppressed', reason: `complaint ${reason}` });
    case 'soft':
      return channelChange({
        ...{ ...about, kind: 'soft_bounced', reason: `soft_bounce ${reason}` },
        message_ref: ref,
      });
    case 'auto_reply':
    case 'none':
      return undefined;
  }
}

function recordBounce(
  { record }: BouncePorts,
  change: ChannelChange,
  { receivedAt, trace }: TrackedRequest,
  { accountId }: TrackedMessage,
): Promise<boolean> {
  const principal = accountPrincipal(accountId);
  return record(change, { principal, source: 'bounce', receivedAt, trace });
}
