import { identityCommandCodec, writerOf } from './codec.ts';
import type { IdentityCommand } from './records.ts';

const encodeV1 = writerOf('identity-command', 1);

/** As earlier releases read it, unless it names a second distinct id. */
export function encodeIdentityCommand(command: IdentityCommand): Buffer {
  return command.user_id === '' ? encodeV1(command) : identityCommandCodec.encode(command);
}
