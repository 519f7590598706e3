import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { UnreadableRecord, verdictRecordCodec } from '../../schemas/codec.ts';
import type { VerdictKind } from '../../schemas/records.ts';
import { eventOffsetKey } from '../../schemas/log-position.ts';

/**
 * Follows the verdicts of one raw partition (events.verdicts) beside a reader of its records: both
 * are in the order of places, verdicts come again after a crash of the normaliser. Holds the
 * verdicts of a few records only.
 */
export class VerdictLog {
  readonly #pieces: AsyncIterator<readonly Pick<ConsumedMessage, 'value'>[]>;
  readonly #held = new Map<string, { offset: number; verdict: VerdictKind }>();
  #reached = -1;
  #ended = false;
  /**
   * Verdicts of records from this offset on are all at hand; undefined until the first one was
   * read.
   */
  firstSeen: number | undefined;

  /**
   * `pieces` begins at or before the verdicts of the first record that is asked for, and ends
   * behind those of the last.
   */
  constructor(pieces: AsyncIterable<readonly Pick<ConsumedMessage, 'value'>[]>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /**
   * What was said of the events of raw records up to `last`, by positionKey; nothing of records
   * before `first` is kept any more. Offsets rise from call to call.
   */
  async between(first: number, last: number): Promise<ReadonlyMap<string, VerdictKind>> {
    while (!this.#ended && this.#reached <= last) await this.#readOn(first);
    const found = new Map<string, VerdictKind>();
    for (const [key, { offset, verdict }] of this.#held) {
      if (offset < first) this.#held.delete(key);
      else if (offset <= last) found.set(key, verdict);
    }
    return found;
  }

  async close(): Promise<void> {
    this.#ended = true;
    await this.#pieces.return?.();
  }

  async #readOn(first: number): Promise<void> {
    const piece = await this.#pieces.next();
    if (piece.done === true) {
      this.#ended = true;
      return;
    }
    for (const { value } of piece.value) {
      for (const { offset, index, verdict } of verdictsOf(value)) {
        this.firstSeen ??= offset;
        this.#reached = Math.max(this.#reached, offset);
        if (offset >= first) this.#held.set(eventOffsetKey({ offset, index }), { offset, verdict });
      }
    }
  }
}

function verdictsOf(
  value: Buffer | null,
): { offset: number; index: number; verdict: VerdictKind }[] {
  if (value === null) return [];
  try {
    return verdictRecordCodec.decode(value).verdicts;
  } catch (error) {
    if (error instanceof UnreadableRecord) return [];
    throw error;
  }
}
