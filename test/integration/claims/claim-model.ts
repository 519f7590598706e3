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
      readonly state: 'placed';
      readonly expires: number;
      readonly position: LogPosition;
      readonly acceptance: number;
    };

/**
 * What claims mean, in the simplest form that can be read: one Map, no bytes, no buckets. The
 * property test holds the real scripts to it.
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
      if (held?.state === 'placed')
        return held.expires > now ? claimCode.durable : claimCode.expiredPlace;
      if (held && held.expires > now) {
        if (held.state === 'durable') return claimCode.durable;
        return held.token === token ? claimCode.own : claimCode.pending;
      }
      if (this.#pendingTtl > 0)
        this.held.set(id, { state: 'pending', expires: now + this.#pendingTtl, token });
      return claimCode.claimed;
    });
  }

  raise(ids: readonly ClaimId[], at: number): void {
    for (const id of ids) {
      const held = this.held.get(id);
      if (held?.state === 'placed' || (held?.state === 'durable' && held.expires > at)) continue;
      this.held.set(id, { state: 'durable', expires: at + this.#ttl });
    }
  }

  release(ids: readonly ClaimId[], token: number): number {
    return ids.filter((id) => {
      const held = this.held.get(id);
      return held?.state === 'pending' && held.token === token && this.held.delete(id);
    }).length;
  }

  settle(entries: readonly ClaimToResolve[]): ClaimResolution[] {
    return entries.map((entry): ClaimResolution => {
      const held = this.held.get(entry.id);
      const take = (): ClaimResolution => {
        this.held.set(entry.id, {
          state: 'placed',
          expires: entry.receivedAt + this.#ttl,
          position: entry.position,
          acceptance: entry.acceptance,
        });
        return { verdict: 'first' };
      };
      if (held?.state !== 'placed') return take();
      if (samePosition(held.position, entry.position)) return { verdict: 'replay' };
      if (entry.redrivenFrom && samePosition(held.position, entry.redrivenFrom)) return take();
      const heldSince = held.expires - this.#ttl;
      if (entry.receivedAt >= heldSince + this.#ttl) return take();
      if (heldSince >= entry.receivedAt + this.#ttl) return { verdict: 'first' };
      const repeated = held.acceptance !== 0 && held.acceptance === entry.acceptance;
      return { verdict: repeated ? 'repeat' : 'duplicate', position: held.position };
    });
  }

  load(entries: readonly ClaimToLoad[]): void {
    for (const { id, receivedAt: at, position: position, acceptance } of entries) {
      const held = this.held.get(id);
      const expires = at + this.#ttl;
      if (held?.state !== 'placed' || held.expires < expires)
        this.held.set(id, { state: 'placed', expires, position, acceptance });
    }
  }

  /** A whole round of the sweep, with all partitions settled up to `settled`. */
  sweep(options: { readonly now: number; readonly settled: number; readonly slack: number }): void {
    for (const [id, held] of this.held) {
      const until =
        held.state === 'placed'
          ? Math.min(options.now, options.settled) - options.slack
          : options.now;
      if (held.expires <= until) this.held.delete(id);
    }
  }
}
