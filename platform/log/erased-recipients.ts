import { eraseFromMessageOutcome, isNobody } from '../../events/erasure/message-records.ts';
import { ErasedPeople } from '../../events/erasure/erased-people.ts';
import type { ChunkRecipient, MessageChunk } from '../../schemas/records.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/pool.ts';
import { readErasures } from './erasures.ts';
import { loadErasures, pollErasures } from './erasures-poll.ts';

interface RecipientsOptions {
  database: Pick<Database, 'query'>;
  log: Log;
  signal: AbortSignal;
}

/**
 * Whose messages are neither opened nor reported any more: people whose erasure was requested. An
 * erasure takes its cut when every process has had the time to notice it, so that no event about a
 * message of theirs comes behind the cut.
 */
export class ErasedRecipients {
  readonly #options: RecipientsOptions;
  #erased = new ErasedPeople([], new Map());

  private constructor(options: RecipientsOptions) {
    this.#options = options;
  }

  /** Resolves when they were read. Rejects when the signal aborts. */
  static async follow(options: RecipientsOptions): Promise<ErasedRecipients> {
    const recipients = new ErasedRecipients(options);
    const load = () => recipients.#load();
    await loadErasures(options, load);
    const isEmpty = () => recipients.#erased.isEmpty;
    void pollErasures({ ...options, isEmpty }, load);
    return recipients;
  }

  /** Whether the message is not sent. */
  isErased(
    { account_id: accountId, planned_at: at }: Pick<MessageChunk, 'account_id' | 'planned_at'>,
    recipient: Pick<ChunkRecipient, 'person_id' | 'user_id'>,
  ): boolean {
    if (isNobody(recipient)) return true;
    if (this.#erased.isEmpty) return false;
    const { person_id, user_id } = recipient;
    return [person_id, user_id].some((name) => this.#erased.coversMessage({ accountId, name, at }));
  }

  /** The record of message-outcome.v1 without what was erased: it makes no event. */
  outcome(record: Buffer): Buffer {
    return eraseFromMessageOutcome(record, this.#erased) ?? record;
  }

  async #load(): Promise<void> {
    this.#erased = await readErasures(this.#options.database, 'requested');
  }
}
