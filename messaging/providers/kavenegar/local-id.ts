import { createHash } from 'node:crypto';

/**
 * The `localid` of a message: 63 bits of the hash of its id, from 1 on, in decimal. Kavenegar sends
 * nothing for a localid that it has seen and answers with the first message.
 */
export function localIdOf(messageId: string): string {
  const bits = createHash('sha256').update(messageId).digest().readBigUInt64BE() >> 1n;
  return (bits === 0n ? 1n : bits).toString();
}
