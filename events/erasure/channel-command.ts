import { channelCommandCodec, decodeIfReadable } from '../../schemas/codec.ts';
import { ERASED_COMMAND, type ChannelCommand } from '../../schemas/records.ts';
import type { ErasedPeople } from './erased-people.ts';

/** About an address, whoever has it. */
const ABOUT_ADDRESS: ReadonlySet<string> = new Set([
  'address_suppressed',
  'address_restored',
  'soft_bounced',
]);

const NOTHING = {
  ...{ trace: '', user_id: '', anonymous_id: '', channel: '', address_id: '', reason: '' },
  ...{ device: null, web_push: null, consent: null, inbox: null, message_ref: Buffer.alloc(0) },
};

/**
 * The command without what is erased; undefined: nothing of it is. An erased command keeps its
 * place, and who accepted it when. A suppression of an address that others have, too, stays without
 * the person.
 */
export function eraseFromChannelCommand(value: Buffer, erased: ErasedPeople): Buffer | undefined {
  const command = erased.isEmpty ? undefined : decodeIfReadable(channelCommandCodec, value);
  const left = command && withoutErased(command, erased);
  return left && channelCommandCodec.encode(left);
}

function withoutErased(command: ChannelCommand, erased: ErasedPeople): ChannelCommand | undefined {
  const { account_id: accountId, channel, address_id: address, received_at: at } = command;
  if (command.kind === ERASED_COMMAND || !erased.hasAccount(accountId)) return undefined;
  const name = command.user_id || command.anonymous_id;
  const isTheirs = name !== '' && erased.coversName({ accountId, name, at });
  if (name !== '' && !isTheirs) return undefined;
  const isTheirAddress =
    address !== '' && erased.coversAddress({ accountId, channel, address, at });
  if (isTheirAddress || (isTheirs && !ABOUT_ADDRESS.has(command.kind)))
    return { ...command, ...NOTHING, kind: ERASED_COMMAND };
  return isTheirs ? { ...command, user_id: '', anonymous_id: '', trace: '' } : undefined;
}
