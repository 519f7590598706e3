import type { DataState } from './data-state.ts';
import type { PartCounts } from './compare-states.ts';
import type { ReportReads } from './reads.ts';

/** The rows of a report's statement, and the state of the data that they were computed from. */
export interface KeptAnswer {
  /** When the statement ran, ms since the epoch. */
  ranAt: number;
  /** JSON text of the rows. */
  rows: string;
  rowsRead: number;
  /** What the state and the counts are of: those of a later request begin later. */
  reads: ReportReads;
  state: DataState;
  counts: PartCounts;
  /** The last moment of asking, ms, for which the rows hold; 0 where the statement has none. */
  asOf: number;
  /** Later moments of asking for which they hold, too, while nothing changes but time: the last. */
  holdsUntil: number;
  /** Until then none of the rows' events expires, ms since the epoch; 0: not known. */
  noneExpiresUntil: number;
}

export interface KeptLimits {
  /** Bytes of one answer; a larger one is not kept. */
  answer: number;
  perAccount: number;
  total: number;
  /** So long an answer is kept, ms: values of people who were erased leave the memory with it. */
  maxAgeMs: number;
}

const SWEEP_EVERY_MS = 60_000;

interface Held extends KeptAnswer {
  accountId: number;
  bytes: number;
}

/**
 * Answers in memory, those used last at the end. Where an account or all together hold too much,
 * the answers used least recently are dropped: of that account, or of all.
 */
export class KeptAnswers {
  readonly #limits: KeptLimits;
  readonly #now: () => number;
  #sweptAt = Number.NEGATIVE_INFINITY;
  readonly #held = new Map<string, Held>();
  readonly #byAccount = new Map<number, number>();
  #bytes = 0;

  constructor(limits: KeptLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Bytes held, about. */
  get bytes(): number {
    return this.#bytes;
  }

  bytesOf(accountId: number): number {
    return this.#byAccount.get(accountId) ?? 0;
  }

  get(key: string): KeptAnswer | undefined {
    this.#sweep();
    const held = this.#held.get(key);
    if (!held) return undefined;
    this.#held.delete(key);
    this.#held.set(key, held);
    return held;
  }

  set(key: string, { accountId, answer }: { accountId: number; answer: KeptAnswer }): void {
    this.#sweep();
    this.#drop(key);
    const bytes = bytesOf(key, answer);
    if (bytes > this.#limits.answer) return;
    this.#held.set(key, { ...answer, accountId, bytes });
    this.#add(accountId, bytes);
    while (this.bytesOf(accountId) > this.#limits.perAccount) this.#dropOldest(accountId);
    while (this.#bytes > this.#limits.total) this.#dropOldest(undefined);
  }

  /** At most once a minute, so that it costs nothing. */
  #sweep(): void {
    const now = this.#now();
    if (now - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = now;
    for (const [key, { ranAt }] of this.#held)
      if (now - ranAt > this.#limits.maxAgeMs) this.#drop(key);
  }

  #dropOldest(accountId: number | undefined): void {
    for (const [key, held] of this.#held)
      if (accountId === undefined || held.accountId === accountId) return this.#drop(key);
  }

  #drop(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    this.#add(held.accountId, -held.bytes);
  }

  #add(accountId: number, bytes: number): void {
    this.#bytes += bytes;
    const own = this.bytesOf(accountId) + bytes;
    if (own === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, own);
  }
}

/** Characters can take two bytes; a name in a list or map costs about a hundred besides. */
function bytesOf(key: string, { rows, state, counts }: KeptAnswer): number {
  const names = state.parts.reduce((sum, part) => sum + part.length + 32, 0);
  return 2 * (key.length + rows.length + state.profiles.length) + names + 100 * counts.size + 500;
}
