import { describe, expect, it } from 'vitest';
import { channelCommandCodec } from '../../schemas/codec.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import { channelChange, type ChannelChange } from '../channels/channel-change.ts';
import { eraseFromChannelCommand } from './channel-command.ts';
import { addressHash, ErasedPeople, idHash } from './erased-people.ts';

const KEY = Buffer.alloc(32, 7);
const AT = 1000;
const OWN = { channel: 'email', address: 'sara@example.ir' };
const erased = new ErasedPeople(
  [
    {
      ...{ id: 1, accountId: 1, keyId: 3, requestedAt: AT, cuts: [] },
      names: ['sara', 'anon'].map((name) => idHash(KEY, 1, name).toString('hex')),
      addresses: [{ channel: 'push', address: 'phone' }, OWN].map((one) =>
        addressHash(KEY, { accountId: 1, ...one }).toString('hex'),
      ),
    },
  ],
  new Map([[3, KEY]]),
);

function command(
  change: Partial<ChannelChange> & Pick<ChannelChange, 'kind' | 'channel'>,
  more: Partial<ChannelCommand> = {},
): ChannelCommand {
  return {
    ...channelChange(change),
    ...{ account_id: 1, app_id: 2, write_key_id: 3, received_at: AT, gateway: 'g', sequence: 9 },
    ...{ written_before: 0, refused_before: 0 },
    ...{ trace: 'trace', source: 'sdk', ...more },
  };
}

/** Undefined: the record stays as it is. */
function left(of: ChannelCommand): ChannelCommand | undefined {
  const value = eraseFromChannelCommand(channelCommandCodec.encode(of), erased);
  return value && channelCommandCodec.decode(value);
}

const device = {
  ...{ platform: 'android', push_token: 'token', push_provider: 'fcm', app_version: '' },
  ...{ os_version: '', model: '', locale: '', timezone: '' },
};
const registered = { kind: 'device_registered', channel: 'push', address_id: 'phone' } as const;
const suppressed = { kind: 'address_suppressed', channel: 'email', reason: '5.1.1' } as const;

describe('a command of an erased person', () => {
  it('keeps its place and its order, and nothing else', () => {
    const found = left(command({ ...registered, user_id: 'sara', device }));
    expect(found).toEqual({
      ...command({ kind: 'erased', channel: 'push' }),
      ...{ channel: '', trace: '' },
    });
    expect(JSON.stringify(found)).not.toMatch(/sara|phone|token/);
  });

  it('is erased under each name, also the anonymous one', () => {
    expect(left(command({ ...registered, anonymous_id: 'anon', device }))?.kind).toBe('erased');
    const consent = { state: 'subscribed', text_version: '', ip: '::1', user_agent: 'a' };
    const changed = { kind: 'consent_changed', channel: 'sms', user_id: 'sara', consent } as const;
    expect(left(command(changed))?.kind).toBe('erased');
  });

  it('is erased by an address that only the person had, when it names nobody', () => {
    const gone = { kind: 'device_unregistered', channel: 'push' } as const;
    expect(left(command({ ...gone, address_id: 'phone' }))?.kind).toBe('erased');
    expect(left(command({ ...gone, address_id: 'other' }))).toBeUndefined();
    const subscribed = { kind: 'web_push_unsubscribed', channel: 'web' } as const;
    expect(left(command({ ...subscribed, address_id: 'phone' }))).toBeUndefined();
  });

  it('stays without the person when it suppresses an address that others have, too', () => {
    const about = { ...suppressed, user_id: 'sara' };
    expect(left(command({ ...about, address_id: OWN.address }))?.kind).toBe('erased');
    const shared = command({ ...about, address_id: 'info@example.ir' });
    expect(left(shared)).toEqual({ ...shared, user_id: '', trace: '' });
  });
});

describe('a command stays byte for byte', () => {
  it.each([
    ['of somebody else', command({ ...registered, user_id: 'sar', device })],
    [
      'of somebody else who has the same anonymous id',
      command({ ...registered, user_id: 'other', anonymous_id: 'anon', device }),
    ],
    ['of another account', command({ ...registered, user_id: 'sara' }, { account_id: 2 })],
    [
      'of the new person of that name',
      command({ ...registered, user_id: 'sara' }, { received_at: AT + 1 }),
    ],
    ['that is erased already', command({ kind: 'erased', channel: 'push' })],
  ])('%s', (_, of) => {
    expect(left(of)).toBeUndefined();
  });
});
