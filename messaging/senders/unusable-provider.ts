import type { Channel } from '../../events/channels/channel-change.ts';
import type { Provider } from '../providers/provider.ts';

/**
 * Stands for a sender that cannot be opened: somebody must act, and its messages wait. It promises
 * nothing about attempts that its real provider may have accepted, so it is not idempotent.
 */
export function unusableProvider(sender: {
  channel: Channel;
  name: string;
  /** A sentence without secrets. */
  detail: string;
}): Provider {
  const { channel, name, detail } = sender;
  return {
    ...{ channel, name, isIdempotent: false },
    send: () => Promise.resolve({ kind: 'broken', reason: 'sender_unusable', detail }),
    close: () => Promise.resolve(),
  };
}
