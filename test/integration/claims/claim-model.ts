import type { ClaimId } from '../../../events/claims/claim-id.ts';
import { samePosition } from '../../../events/claims/position-bytes.ts';
import type {
  ClaimToLoad,
  ClaimToResolve,
  ClaimResolution,
} from '../../../events/claims/resolution.ts';
import { claimCode } from '../../../events/claims/verdict.ts';
import type { LogPosition } from '../../../schemas/log-position.ts';

type Held =
  | { readonly state: 'durable'; readonly expires: number }
  | { readonly state: 'pending'; readonly expires: number; readonly token: number }
  | {
      readonly state: 'resolved';
      readonly expires: number;
      readonly position: LogPosition;
      readonly acceptance: number;
    };

/**
 * The meaning of claims in its simplest form: one Map, no bytes, no buckets. A property test
 * compares the scripts with it.
 */
export class ClaimModel {
  readonly held = new Map<ClaimId, Held>();
  readonly #ttl: number;
  readonly #pendingTtl: number;

  constructor(options: { readonly dedupeTtl: number; readonly pendingTtl: number }) {
    this.#ttl = options.dedupeTtl;
    this.#pendingTtl = options.pendingTtl;
  }

  claim(ids: readonly ClaimId[], token: number, now: number): number[] {
    return ids.map((id) => {
      const held = this.held.get(id);
      if (held?.state === 'resolved')
        return held.expires > now ? claimCode.durable : claimCode.expiredResolved;
      if (held && held.expires > now) {
        if (held.state === 'durable') return claimCode.durable;
        return held.token === token ? claimCode.own : claimCode.pending;
      }
      if (this.#pendingTtl > 0)
        this.held.set(id, { state: 'pending', expires: now + this.#pendingTtl, token });
      return claimCode.claimed;
    });
  }

  confirm(ids: readonly ClaimId[], receivedAt: number): void {
    for (const id of ids) {
      const held = this.held.get(id);
      if (held?.state === 'resolved' || (held?.state === 'durable' && held.expires > receivedAt))
        continue;
      this.held.set(id, { state: 'durable', expires: receivedAt + this.#ttl });
    }
  }

  release(ids: readonly ClaimId[], token: number): number {
    return ids.filter((id) => {
      const held = this.held.get(id);
      return held?.state === 'pending' && held.token === token && this.held.delete(id);
    }).length;
  }

  resolve(claims: readonly ClaimToResolve[]): ClaimResolution[] {
    return claims.map((claim): ClaimResolution => {
      const held = this.held.get(claim.id);
      const hold = (): ClaimResolution => {
        this.held.set(claim.id, {
          state: 'resolved',
          expires: claim.receivedAt + this.#ttl,
          position: claim.position,
          acceptance: claim.acceptance,
        });
        return { verdict: 'first' };
      };
      if (held?.state !== 'resolved') return hold();
      if (samePosition(held.position, claim.position)) return { verdict: 'replay' };
      if (claim.redrivenFrom && samePosition(held.position, claim.redrivenFrom)) return hold();
      const heldSince = held.expires - this.#ttl;
      if (claim.receivedAt >= heldSince + this.#ttl) return hold();
      if (heldSince >= claim.receivedAt + this.#ttl) return { verdict: 'first' };
      const repeated = held.acceptance !== 0 && held.acceptance === claim.acceptance;
      return { verdict: repeated ? 'repeat' : 'duplicate', position: held.position };
    });
  }

  load(claims: readonly ClaimToLoad[]): void {
    for (const { id, receivedAt, position, acceptance } of claims) {
      const held = this.held.get(id);
      const expires = receivedAt + this.#ttl;
      if (held?.state !== 'resolved' || held.expires <= expires)
        this.held.set(id, { state: 'resolved', expires, position, acceptance });
    }
  }

  /** A full round of the sweep, with all partitions processed until `processed`. */
  sweep(options: {
    readonly now: number;
    readonly processed: number;
    readonly slack: number;
  }): void {
    for (const [id, held] of this.held) {
      const until =
        held.state === 'resolved'
          ? Math.min(options.now, options.processed) - options.slack
          : options.now;
      if (held.expires <= until) this.held.delete(id);
    }
  }
}
