/** A request as the ledger names it. */
export interface MessageKey {
  accountId: number;
  idempotencyKey: string;
}

/** A key with what names one reservation of it: a random number. */
export interface Fenced extends MessageKey {
  fence: number;
}

/** A reservation that this process holds, until another one has the key. */
export interface Reservation extends Fenced {
  /**
   * By what a former holder called, or was about to call, a provider, when no answer is known;
   * empty: none did.
   */
  openedWith: string;
}

/**
 * What providers have of a message whose key is released: `none` of it; perhaps a `call` of this
 * holder, or of a former one; or nothing of this holder, which called none, and what the key says
 * of a `former` one.
 */
export type Handed = 'none' | 'call' | 'former';
