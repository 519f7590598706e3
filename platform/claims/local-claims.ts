import type { ClaimId } from '../../events/claims/claim-id.ts';
import { RecentIds, type SlotKeys } from '../../events/claims/recent-ids.ts';
import { markRepeats, type ClaimVerdict } from '../../events/claims/verdict.ts';
import type { ClaimBatcher, ClaimedIds } from './claim-batcher.ts';

/** Whose events the ids are of, and when they were received, Unix ms. */
export interface ClaimingRequest {
  readonly account: number;
  readonly receivedAt: number;
  /** Duplicates that only another process knows are reported as well: Redis is asked. */
  readonly isExact: boolean;
}

/** `account`: the ids were not claimed in Redis. */
export interface GatewayClaimed extends ClaimedIds {
  readonly account?: number;
}

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
  /** The log did not go back since the ids were stored, as far as anybody knows. */
  #epochs: number | undefined;
  readonly counters = { ids: 0, known: 0, forgotten: 0 };

  constructor({ batcher, dedupeTtl, maxBytes, slotKeys }: LocalClaimsOptions) {
    this.#batcher = batcher;
    if (maxBytes > 0)
      this.#recent = new RecentIds({ maxBytes, windowMs: dedupeTtl, keys: slotKeys });
  }

  /** Bytes of the ids. */
  get bytes(): number {
    return this.#recent?.bytes ?? 0;
  }

  claim(
    ids: readonly ClaimId[],
    request: ClaimingRequest,
  ): GatewayClaimed | Promise<GatewayClaimed> {
    const { account, receivedAt, isExact } = request;
    const recent = this.#recent;
    if (!recent || isExact) return this.#batcher.claim(ids, receivedAt);
    this.counters.ids += ids.length;
    if (ids.some((id) => recent.has(account, id, receivedAt)))
      return this.#ask(ids, request, recent);
    const verdicts = ids.length === 1 ? ONE_CLAIMED : markRepeats(ids, allClaimed(ids));
    return { ids, receivedAt, token: null, verdicts, account };
  }

  /** Redis decides about the ids that are known here. Without it they are published. */
  async #ask(
    ids: readonly ClaimId[],
    { account, receivedAt }: ClaimingRequest,
    recent: RecentIds,
  ): Promise<GatewayClaimed> {
    const known = ids.flatMap((id, position) => {
      const added = recent.addedAt(account, id, receivedAt);
      return added === undefined ? [] : [{ id, position, added }];
    });
    this.counters.known += known.length;
    const answer = await this.#batcher.claim(
      known.map(({ id }) => id),
      receivedAt,
    );
    const verdicts = allClaimed(ids);
    for (const [at, { position, added }] of known.entries()) {
      const verdict = answer.verdicts[at] ?? 'unguarded';
      const isUnresolved = verdict === 'claimed' && Math.abs(receivedAt - added) < UNRESOLVED_MS;
      verdicts[position] = isUnresolved ? 'durable' : verdict;
    }
    return { ids, receivedAt, token: null, verdicts: markRepeats(ids, verdicts), account };
  }

  /** The events are durable. */
  confirm(claimed: GatewayClaimed, positions?: readonly number[]): void {
    const { account, ids, receivedAt } = claimed;
    if (account === undefined) return this.#batcher.confirm(claimed, positions);
    const count = positions?.length ?? ids.length;
    for (let at = 0; at < count; at++) {
      const id = ids[positions ? (positions[at] ?? -1) : at];
      if (id !== undefined) this.#recent?.add(account, id, receivedAt);
    }
  }

  /** The events are not durable: they are no duplicates when they are sent again. */
  release(claimed: GatewayClaimed, positions?: readonly number[]): Promise<void> {
    return claimed.account === undefined
      ? this.#batcher.release(claimed, positions)
      : Promise.resolve();
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

function allClaimed(ids: readonly ClaimId[]): ClaimVerdict[] {
  return new Array<ClaimVerdict>(ids.length).fill('claimed');
}
