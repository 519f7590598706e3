import { decodeIfReadable, identityCommandCodec } from '../../schemas/codec.ts';
import { encodeIdentityCommand } from '../../schemas/identity-command-versions.ts';
import type { ErasedPeople } from './erased-people.ts';

/** The command without the names of erased people; undefined when it has none. */
export function eraseFromIdentityCommand(value: Buffer, erased: ErasedPeople): Buffer | undefined {
  const command = erased.isEmpty ? undefined : decodeIfReadable(identityCommandCodec, value);
  if (!command) return undefined;
  const { account_id: accountId, previous_id, user_id, requested_at: at } = command;
  const isErased = [previous_id, user_id].some((name) =>
    erased.coversName({ accountId, name, at }),
  );
  // Without both names it decides about no alias.
  return isErased ? encodeIdentityCommand({ ...command, previous_id: '', user_id: '' }) : undefined;
}
