import type { FailureReason, SkipReason } from '../../events/messages/reasons.ts';
import type { Channel } from '../../events/channels/channel-change.ts';

/** What became of a transactional message, as it is stored and replayed. */
export type MessageResult = { message_id: string; channel: Channel } & (
  | { status: 'sent' }
  | { status: 'skipped'; reason: SkipReason }
  | { status: 'failed'; reason: FailureReason }
);
