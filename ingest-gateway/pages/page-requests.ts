import { channelChange, type Channel } from '../../events/channels/channel-change.ts';
import type { ConsentState } from '../../events/channels/chosen-consents.ts';
import type { TrackedMessage, TrackingTokens } from '../../events/channels/tracking-token.ts';
import type { BodyBudget } from '../http/body.ts';
import {
  accountPrincipal,
  findRecipient,
  type Recipient,
  type RecipientOf,
  type RecordChange,
} from '../tracking/recipients.ts';
import { NOT_FOUND, type TextAnswer } from '../tracking/text-answer.ts';
import type { TrackedRequest } from '../tracking/tracked-server.ts';
import { UNAVAILABLE_PAGE } from './failure-pages.ts';

/** What the pages need. */
export interface PagePorts {
  tokens: Pick<TrackingTokens, 'write'>;
  recipientOf: RecipientOf;
  record: RecordChange;
  budget: BodyBudget;
  onUnreachable: (error: unknown) => void;
}

/** The person behind a page, or the answer when there is none. */
export async function personOf(
  { recipientOf, onUnreachable }: PagePorts,
  tracked: TrackedMessage,
): Promise<Recipient | TextAnswer> {
  const found = await findRecipient(recipientOf, tracked, onUnreachable);
  if (found === 'unreachable') return UNAVAILABLE_PAGE;
  // Consents are those of users: without a user id one would be that of everybody without.
  return found === 'unknown' || found.userId === '' ? NOT_FOUND : found;
}

export function isAnswer(found: Recipient | TextAnswer): found is TextAnswer {
  return 'status' in found;
}

/** False when the change is not durable. */
export function recordConsent(
  { record }: PagePorts,
  { tracked, ip, userAgent, receivedAt, trace }: TrackedRequest & { tracked: TrackedMessage },
  change: { userId: string; channel: Channel; state: ConsentState; textVersion: string },
): Promise<boolean> {
  const { userId, channel, state, textVersion } = change;
  return record(
    channelChange({
      ...{ kind: 'consent_changed', channel, user_id: userId },
      consent: { state, text_version: textVersion, ip, user_agent: userAgent },
    }),
    { principal: accountPrincipal(tracked.accountId), source: 'page', receivedAt, trace },
  );
}
