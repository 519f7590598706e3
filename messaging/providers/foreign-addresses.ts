import type { ProviderAnswer } from './provider.ts';

/** So many addresses have to be refused before it is the sender's fault. */
const ENOUGH = 10;
/** Until it may be known whose fault it is, ms. */
const UNDECIDED_MS = 60_000;

/** What a refusal means when the sender is known to work. */
interface Verdict {
  kind: 'dead_address' | 'rejected';
  reason: string;
}

/**
 * Whose fault it is that a service says "this address is not one of this sender", or refuses in
 * words that fit both. Visitors register addresses and write what messages repeat, and may choose
 * what a service refuses so: that must not stop a sender. And a wrong setting of a sender must not
 * remove all its addresses. The answers to other messages decide.
 */
export class ForeignAddresses {
  #hasAccepted = false;
  readonly #refused = new Set<string>();
  readonly #verdict: Verdict;

  constructor(verdict: Verdict = { kind: 'dead_address', reason: 'other_sender' }) {
    this.#verdict = verdict;
  }

  /** The service accepted a message of the sender. */
  accepted(): void {
    this.#hasAccepted = true;
    this.#refused.clear();
  }

  /** What the refusal of an address means; the message was not taken. */
  refused(address: string, detail: string): ProviderAnswer {
    if (this.#hasAccepted) return { ...this.#verdict, detail };
    if (this.#refused.size < ENOUGH) this.#refused.add(address);
    return this.#refused.size < ENOUGH
      ? { kind: 'retry', reason: 'undecided', detail, afterMs: UNDECIDED_MS }
      : { kind: 'broken', reason: 'credentials', detail };
  }
}
