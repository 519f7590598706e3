import type { ProviderAnswer } from './provider.ts';

/** So many addresses have to be refused before it is the sender's fault. */
const ENOUGH = 10;
/** Until it may be known whose fault it is, ms. */
const UNDECIDED_MS = 60_000;

/**
 * Whose fault it is that a push service says "this address is not one of this sender". Visitors
 * register addresses, and may register those of another app: that must not stop a sender. And a
 * wrong setting of a sender must not remove all its addresses. The answers to other messages
 * decide.
 */
export class ForeignAddresses {
  #hasAccepted = false;
  readonly #refused = new Set<string>();

  /** The push service accepted a message of the sender. */
  accepted(): void {
    this.#hasAccepted = true;
    this.#refused.clear();
  }

  /** What the refusal of an address means; the message was not taken. */
  refused(address: string, detail: string): ProviderAnswer {
    if (this.#hasAccepted) return { kind: 'dead_address', reason: 'other_sender', detail };
    if (this.#refused.size < ENOUGH) this.#refused.add(address);
    return this.#refused.size < ENOUGH
      ? { kind: 'retry', reason: 'undecided', detail, afterMs: UNDECIDED_MS }
      : { kind: 'broken', reason: 'credentials', detail };
  }
}
