import fc from 'fast-check';
import type { ChannelCommand } from '../../../schemas/records.ts';
import { channelChange, type ChannelChange } from '../channel-change.ts';

/** Few users, devices, tokens and chats, so that they meet. */
const users = fc.constantFrom('u1', 'b\\\\', 'c\\u0000');
const ids = fc.constantFrom('x1', 'x2', 'x3');

export const changes: fc.Arbitrary<ChannelChange> = fc.oneof(
  fc.record({ user_id: users, address_id: ids, token: fc.constantFrom('t1', 't2') }).map((sent) =>
    channelChange({
      ...{ kind: 'device_registered', channel: 'push' },
      ...{ user_id: sent.user_id, address_id: sent.address_id, device: deviceOf(sent.token) },
    }),
  ),
  ids.map((address_id) =>
    channelChange({ kind: 'device_unregistered', channel: 'push', address_id }),
  ),
  ids.map((address_id) =>
    channelChange({ kind: 'address_deactivated', channel: 'push', address_id, reason: 'dead' }),
  ),
  fc
    .record({ user_id: users, address_id: ids })
    .map((sent) => channelChange({ kind: 'messenger_linked', channel: 'bale', ...sent })),
  fc
    .record({ user_id: users, address_id: fc.oneof(ids, fc.constant('')) })
    .map((sent) => channelChange({ kind: 'messenger_unlinked', channel: 'bale', ...sent })),
);

function deviceOf(push_token: string): ChannelChange['device'] {
  const described = { app_version: '', os_version: '', model: '', locale: '', timezone: '' };
  return { platform: 'android', push_token, push_provider: 'fcm', ...described };
}

/** Accepted one after the other by two gateways; several within a millisecond. */
export function accepted(sent: readonly ChannelChange[]): ChannelCommand[] {
  return sent.map((change, at) => ({
    ...change,
    ...{ account_id: 1, app_id: 0, write_key_id: 0, trace: '', source: 'sdk' },
    ...{ received_at: 1000 + Math.floor(at / 3), gateway: 'g', sequence: at },
    ...{ written_before: at, refused_before: 0 },
  }));
}
