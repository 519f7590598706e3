import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { decodeIfReadable, verdictRecordCodec } from '../../schemas/codec.ts';
import type { VerdictKind } from '../../schemas/records.ts';
import { eventOffsetKey } from '../../schemas/log-position.ts';

type VerdictMessage = Pick<ConsumedMessage, 'value' | 'offset'>;

/** Whether a verdict on a raw offset, in the record `at`, is about the record that is there now. */
type IsCurrent = (offset: number, at: number) => boolean;

/**
 * Reads the verdicts of one partition (events.verdicts) in step with a reader of its raw records.
 * Both are ordered by position; verdicts are repeated after a crash of the normaliser. Keeps only
 * the verdicts of a few records in memory.
 */
export class VerdictLog {
  readonly #batches: AsyncIterator<readonly VerdictMessage[]>;
  readonly #isCurrent: IsCurrent;
  readonly #verdicts = new Map<string, { offset: number; verdict: VerdictKind }>();
  #readUntil = -1;
  #ended = false;
  /** Verdicts are complete from this offset on; undefined until the first is read. */
  firstOffset: number | undefined;

  /**
   * `batches` covers the verdicts of all records that `between` is called for. Verdicts that are
   * not current are about records that the log lost.
   */
  constructor(
    batches: AsyncIterable<readonly VerdictMessage[]>,
    isCurrent: IsCurrent = () => true,
  ) {
    this.#isCurrent = isCurrent;
    this.#batches = batches[Symbol.asyncIterator]();
  }

  /**
   * The verdicts on events of raw records up to `last`, by eventOffsetKey. Drops the verdicts on
   * records before `first`: offsets must rise from call to call.
   */
  async between(first: number, last: number): Promise<ReadonlyMap<string, VerdictKind>> {
    while (!this.#ended && this.#readUntil <= last) await this.#readBatch(first);
    const found = new Map<string, VerdictKind>();
    for (const [key, { offset, verdict }] of this.#verdicts) {
      if (offset < first) this.#verdicts.delete(key);
      else if (offset <= last) found.set(key, verdict);
    }
    return found;
  }

  async close(): Promise<void> {
    this.#ended = true;
    await this.#batches.return?.();
  }

  async #readBatch(first: number): Promise<void> {
    const batch = await this.#batches.next();
    if (batch.done === true) {
      this.#ended = true;
      return;
    }
    for (const { value, offset: at } of batch.value) {
      for (const { offset, index, verdict } of verdictsOf(value)) {
        if (!this.#isCurrent(offset, at)) continue;
        this.firstOffset ??= offset;
        this.#readUntil = Math.max(this.#readUntil, offset);
        if (offset >= first)
          this.#verdicts.set(eventOffsetKey({ offset, index }), { offset, verdict });
      }
    }
  }
}

function verdictsOf(
  value: Buffer | null,
): { offset: number; index: number; verdict: VerdictKind }[] {
  return decodeIfReadable(verdictRecordCodec, value)?.verdicts ?? [];
}
