import type { Provider, ProviderAnswer, ProviderMessage } from '../providers/provider.ts';
import { unsupportedService, wrongTarget } from '../providers/unsendable.ts';
import { joinedName } from './sender.ts';
import type { SenderName } from './sender-store.ts';

/** What is recorded of a sender whose provider refuses it; neither waits nor rejects. */
export interface SenderMarks {
  broken: (sender: SenderName, reason: string) => void;
  working: (sender: SenderName) => void;
}

interface Part {
  sender: SenderName;
  provider: Provider;
  isMarked: boolean;
}

interface PartState extends Part {
  /** By the monotonic clock, ms. */
  refusedUntil: number;
  reason: string;
}

/** The reason of `retry`: a sender is refused, and another one of the channel is not. */
export const PART_REFUSED = 'part_refused';
/** A sender that was refused is not called again before, ms. */
const PAUSE_MS = 60_000;

/**
 * The senders of a channel that an account has side by side, as one: a message goes to that of its
 * device. While a provider refuses one of them, its messages wait and the others are sent; it is
 * `broken` only when all are.
 */
export class JoinedProvider implements Provider {
  readonly channel;
  readonly name;
  readonly isIdempotent;
  readonly #parts: readonly PartState[];
  readonly #marks: SenderMarks;
  readonly #now: () => number;

  /** @param options.now ms, monotonic */
  constructor(options: {
    parts: readonly [Part, ...Part[]];
    marks: SenderMarks;
    now: () => number;
  }) {
    const { parts, marks, now } = options;
    this.channel = parts[0].provider.channel;
    this.name = joinedName(parts.map(({ provider }) => provider.name));
    this.isIdempotent = parts.every(({ provider }) => provider.isIdempotent);
    this.#parts = parts.map((part) => ({ ...part, refusedUntil: -Infinity, reason: '' }));
    this.#marks = marks;
    this.#now = now;
  }

  async send(message: ProviderMessage, options: { signal: AbortSignal }): Promise<ProviderAnswer> {
    const { to } = message;
    if (to.kind !== 'device') return wrongTarget(this.name, to);
    const part = this.#parts.find(({ provider }) => provider.name === to.provider);
    if (!part) return unsupportedService(this.name, to.provider);
    if (part.refusedUntil > this.#now()) return this.#refusal(part);
    const answer = await part.provider.send(message, options);
    if (answer.kind === 'broken') {
      part.refusedUntil = this.#now() + PAUSE_MS;
      part.reason = `${answer.reason}: ${answer.detail}`;
      part.isMarked = true;
      this.#marks.broken(part.sender, part.reason);
      return this.#refusal(part);
    }
    if (answer.kind === 'accepted' && part.isMarked) {
      part.isMarked = false;
      this.#marks.working(part.sender);
    }
    return answer;
  }

  /** What the store says of the senders now. */
  update(senders: readonly { provider: string; broken: unknown }[]): void {
    for (const part of this.#parts) {
      const found = senders.find(({ provider }) => provider === part.provider.name);
      if (found) part.isMarked = found.broken !== undefined;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map(({ provider }) => provider.close()));
  }

  #refusal({ reason: detail, refusedUntil }: PartState): ProviderAnswer {
    const now = this.#now();
    return this.#parts.every((part) => part.refusedUntil > now)
      ? { kind: 'broken', reason: PART_REFUSED, detail }
      : { kind: 'retry', reason: PART_REFUSED, detail, afterMs: refusedUntil - now };
  }
}
