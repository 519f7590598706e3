import { claimIdAt, claimIdsOf, type ClaimWords } from '../../events/claims/claim-words.ts';
import type { SlotKeys } from '../../events/claims/id-slots.ts';
import { RecentIds } from '../../events/claims/recent-ids.ts';
import { RepeatedIds } from '../../events/claims/repeated-ids.ts';
import type { ClaimVerdict } from '../../events/claims/verdict.ts';
import type { ClaimBatcher, ClaimedIds } from './claim-batcher.ts';

/** Whose events the ids are of, and when they were received, Unix ms. */
export interface ClaimingRequest {
  readonly account: number;
  readonly receivedAt: number;
  /** Duplicates that only another process knows are reported as well: Redis is asked. */
  readonly isExact: boolean;
}

/** Ids that were not claimed in Redis. */
interface ClaimedHere {
  readonly account: number;
  readonly ids: ClaimWords;
  /** Unix ms. */
  readonly receivedAt: number;
  /** One per id, in order. */
  readonly verdicts: readonly ClaimVerdict[];
}

export type GatewayClaimed = ClaimedIds | ClaimedHere;

interface LocalClaimsOptions {
  batcher: Pick<ClaimBatcher, 'claim' | 'confirm' | 'release'>;
  /** DEDUPE_TTL in ms. */
  dedupeTtl: number;
  /** RECENT_IDS_MAX_BYTES; 0: every id is claimed in Redis. */
  maxBytes: number;
  /** Random numbers below 2^32. */
  slotKeys: SlotKeys;
}

const ONE_CLAIMED: readonly ClaimVerdict[] = ['claimed'];
/**
 * An id that was stored less than this ago and has no entry in Redis is not resolved yet: an entry
 * of an earlier event, of which it is a duplicate, stays for sweepSlack (10 minutes at least) after
 * its window.
 */
const UNRESOLVED_MS = 60_000;

/**
 * The claims of a gateway. They are advisory, because the normaliser decides
 * (docs/deduplication.md): what is not among the ids that this process made durable itself is
 * published without a round trip. What is among them may have been no row, but a duplicate of one
 * that has left the window since then: Redis is asked. Requests that must report every duplicate
 * ask Redis about all ids.
 */
export class LocalClaims {
  readonly #batcher: LocalClaimsOptions['batcher'];
  readonly #recent: RecentIds | undefined;
  readonly #repeated: RepeatedIds;
  /** The log did not go back since the ids were stored, as far as anybody knows. */
  #epochs: number | undefined;
  readonly counters = { ids: 0, known: 0, forgotten: 0 };

  constructor({ batcher, dedupeTtl, maxBytes, slotKeys }: LocalClaimsOptions) {
    this.#batcher = batcher;
    this.#repeated = new RepeatedIds(slotKeys);
    if (maxBytes > 0)
      this.#recent = new RecentIds({ maxBytes, windowMs: dedupeTtl, keys: slotKeys });
  }

  /** Bytes of the ids. */
  get bytes(): number {
    return this.#recent?.bytes ?? 0;
  }

  claim(ids: ClaimWords, request: ClaimingRequest): GatewayClaimed | Promise<GatewayClaimed> {
    const { account, receivedAt, isExact } = request;
    const recent = this.#recent;
    if (!recent || isExact) return this.#batcher.claim(claimIdsOf(ids), receivedAt);
    const { count } = ids;
    this.counters.ids += count;
    if (recent.hasAny(account, ids, receivedAt)) return this.#ask(ids, request, recent);
    const verdicts = count === 1 ? ONE_CLAIMED : this.#markRepeats(ids, allClaimed(count));
    return { ids, receivedAt, verdicts, account };
  }

  /** Redis decides about the ids that are known here. Without it they are published. */
  async #ask(
    ids: ClaimWords,
    { account, receivedAt }: ClaimingRequest,
    recent: RecentIds,
  ): Promise<GatewayClaimed> {
    const verdicts = allClaimed(ids.count);
    const known = [...verdicts.keys()].flatMap((position) => {
      const added = recent.addedAt(account, { ids, position }, receivedAt);
      return added === undefined ? [] : [{ position, added }];
    });
    this.counters.known += known.length;
    const answer = await this.#batcher.claim(
      known.map(({ position }) => claimIdAt(ids, position)),
      receivedAt,
    );
    for (const [at, { position, added }] of known.entries()) {
      const verdict = answer.verdicts[at] ?? 'unguarded';
      const isUnresolved = verdict === 'claimed' && Math.abs(receivedAt - added) < UNRESOLVED_MS;
      verdicts[position] = isUnresolved ? 'durable' : verdict;
    }
    return { ids, receivedAt, verdicts: this.#markRepeats(ids, verdicts), account };
  }

  /** Of an id that the request has more than once, the first is published. */
  #markRepeats(ids: ClaimWords, verdicts: ClaimVerdict[]): ClaimVerdict[] {
    for (const position of this.#repeated.find(ids))
      if (verdicts[position] !== 'durable') verdicts[position] = 'repeated';
    return verdicts;
  }

  /** The events are durable. */
  confirm(claimed: GatewayClaimed, positions?: readonly number[]): void {
    if ('account' in claimed)
      this.#recent?.add(claimed.account, claimed.ids, claimed.receivedAt, positions);
    else this.#batcher.confirm(claimed, positions);
  }

  /** The events are not durable: they are no duplicates when they are sent again. */
  release(claimed: GatewayClaimed, positions?: readonly number[]): Promise<void> {
    return 'account' in claimed ? Promise.resolve() : this.#batcher.release(claimed, positions);
  }

  /**
   * What the log lost is no duplicate when it is sent again: a number of epochs that is not the
   * last one forgets all ids.
   * @param epochs how many epochs of the log have begun; undefined: nobody knows
   */
  follow(epochs: number | undefined): void {
    if (epochs !== undefined && epochs === this.#epochs) return;
    this.#epochs = epochs;
    if (this.bytes === 0) return;
    this.#recent?.clear();
    this.counters.forgotten++;
  }
}

function allClaimed(count: number): ClaimVerdict[] {
  return new Array<ClaimVerdict>(count).fill('claimed');
}
