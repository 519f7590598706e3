import { createHash } from 'node:crypto';
import { decodeIfReadable, messageChunkCodec, messageOutcomeCodec } from '../../schemas/codec.ts';
import { ERASED, type ChunkRecipient, type MessageChunk } from '../../schemas/records.ts';
import type { ErasedPeople } from './erased-people.ts';

interface Recipient {
  accountId: number;
  person_id: string;
  user_id: string;
  planned_at: number;
}

/** The message was planned before the erasure, for one of the person's names. */
function isTheirs(
  { accountId, person_id, user_id, planned_at: at }: Recipient,
  erased: ErasedPeople,
) {
  return [person_id, user_id].some((name) => erased.coversMessage({ accountId, name, at }));
}

/**
 * The chunk without erased people; undefined when it has none. The place of each recipient stays,
 * because outcomes are counted by place; the key becomes one that names nobody.
 */
export function eraseFromMessageChunk(value: Buffer, erased: ErasedPeople): Buffer | undefined {
  const chunk = erased.isEmpty ? undefined : decodeIfReadable(messageChunkCodec, value);
  if (!chunk || !erased.hasAccount(chunk.account_id)) return undefined;
  const { account_id: accountId, planned_at } = chunk;
  const recipients = chunk.recipients.map((recipient) =>
    isTheirs({ accountId, planned_at, ...recipient }, erased)
      ? { ...recipient, person_id: '', user_id: '' }
      : recipient,
  );
  if (recipients.every((recipient, place) => recipient === chunk.recipients[place]))
    return undefined;
  return messageChunkCodec.encode(withoutErasedKeys({ ...chunk, recipients }));
}

/** The recipient is what is left of an erased person. */
export function isNobody({
  person_id,
  user_id,
}: Pick<ChunkRecipient, 'person_id' | 'user_id'>): boolean {
  return person_id === '' && user_id === '';
}

/** A key is a hash of its person. Nobody gets one that follows from the place in the run. */
export function withoutErasedKeys(chunk: MessageChunk): MessageChunk {
  const recipients = chunk.recipients.map((recipient, place) =>
    isNobody(recipient) ? { ...recipient, key: keyOfPlace(chunk, place) } : recipient,
  );
  const first = recipients.find((recipient) => !isNobody(recipient));
  // Chunks are found by the first key of theirs that names somebody.
  return { ...chunk, recipients, first_key: first?.key ?? '' };
}

function keyOfPlace({ run_id, chunk }: MessageChunk, place: number): string {
  const hash = createHash('sha256').update(`erased ${run_id}.${chunk}.${place}`).digest('hex');
  return hash.slice(0, 32);
}

/** What is left of the outcome of an erased person's message; undefined: it is not one. */
export function eraseFromMessageOutcome(value: Buffer, erased: ErasedPeople): Buffer | undefined {
  const outcome = erased.isEmpty ? undefined : decodeIfReadable(messageOutcomeCodec, value);
  if (!outcome || !erased.hasAccount(outcome.account_id)) return undefined;
  if (!isTheirs({ accountId: outcome.account_id, ...outcome }, erased)) return undefined;
  return messageOutcomeCodec.encode({
    ...outcome,
    ...{ message_id: '', person_id: '', user_id: '', address_hash: '', provider_message_id: '' },
    ...{ status: ERASED, reason: '' },
  });
}
