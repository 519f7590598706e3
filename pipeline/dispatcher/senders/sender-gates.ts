import type { Channel } from '../../../events/channels/channel-change.ts';
import type { OpenSender, Senders } from '../../../messaging/senders/senders.ts';
import type { ReadMessageSettings } from '../../../messaging/settings/settings-store.ts';
import type { BreakerPhase } from '../../../platform/breaker.ts';
import { CallLimit } from '../../../platform/call-limit.ts';
import { RateLimiter } from './rate-limiter.ts';
import type { GrantedPart, RateKey } from './rate-store.ts';
import { SenderGate } from './sender-gate.ts';

interface GatesDeps {
  senders: Pick<Senders, 'open'>;
  readSettings: ReadMessageSettings;
  grantRate: (key: RateKey) => Promise<GrantedPart | undefined>;
  /** Calls that this process may have open. */
  maxCalls: number;
  /** ms, monotonic */
  now: () => number;
  random: () => number;
  onPhase: (of: { accountId: number; channel: Channel }, phase: BreakerPhase) => void;
}

/** A channel of an account that this process sends, or has sent. */
export interface ChannelGate {
  accountId: number;
  channel: Channel;
  gate: SenderGate;
  /** Chunks of it that this process has leased. */
  chunks: number;
  usedAt: number;
  /** The deadlines of its runs were moved then, because it was at its limits. */
  deadlinesMovedAt: number;
}

/** Of a sender's limit a second; the rest is for transactional messages, which are not limited. */
const CAMPAIGN_SHARE = 0.9;
/** Channels that were not used for so long are forgotten, ms. */
const FORGET_MS = 600_000;

/** The gates of all channels that this process sends. */
export class SenderGates {
  readonly #deps: GatesDeps;
  readonly #calls: CallLimit;
  readonly #channels = new Map<string, ChannelGate>();
  readonly #accountRates = new Map<number, RateLimiter>();

  constructor(deps: GatesDeps) {
    this.#deps = deps;
    this.#calls = new CallLimit({ calls: deps.maxCalls });
  }

  get openCalls(): number {
    return this.#calls.used;
  }

  all(): Iterable<ChannelGate> {
    return this.#channels.values();
  }

  get(accountId: number, channel: Channel): ChannelGate {
    const key = `${accountId} ${channel}`;
    const { now, random, onPhase } = this.#deps;
    let found = this.#channels.get(key);
    if (!found) {
      const gate: SenderGate = new SenderGate(accountId, {
        ...{ calls: this.#calls, now, random },
        rate: this.#limiter(accountId, channel, () => gate.wake()),
        accountRate: this.#accountRate(accountId),
        onPhase: (phase) => onPhase({ accountId, channel }, phase),
      });
      found = { accountId, channel, gate, chunks: 0, usedAt: now(), deadlinesMovedAt: -Infinity };
      this.#channels.set(key, found);
    }
    found.usedAt = now();
    return found;
  }

  /**
   * Reads the sender of a channel again. Undefined: it has none. Rejects when PostgreSQL does.
   */
  async refresh({ accountId, channel, gate }: ChannelGate): Promise<OpenSender | undefined> {
    const { senders, readSettings } = this.#deps;
    const [sender, settings] = await Promise.all([
      senders.open(accountId, channel),
      readSettings(accountId),
    ]);
    gate.update(
      sender && {
        identity: identityOf(sender),
        concurrency: sender.limits.concurrency,
        perSecond: sender.limits.perSecond && sender.limits.perSecond * CAMPAIGN_SHARE,
        accountPerSecond: settings.maxPerSecond,
        isBroken: sender.broken !== undefined,
      },
    );
    return sender;
  }

  /** Forgets channels that nobody has used for long. */
  sweep(): void {
    const before = this.#deps.now() - FORGET_MS;
    for (const [key, { gate, chunks, usedAt }] of this.#channels) {
      if (chunks > 0 || gate.openCalls > 0 || usedAt > before) continue;
      gate.close();
      this.#channels.delete(key);
    }
    const accounts = new Set([...this.#channels.values()].map(({ accountId }) => accountId));
    for (const [accountId, rate] of this.#accountRates) {
      if (accounts.has(accountId)) continue;
      rate.close();
      this.#accountRates.delete(accountId);
    }
  }

  #accountRate(accountId: number): RateLimiter {
    const wake = () => {
      for (const one of this.#channels.values()) if (one.accountId === accountId) one.gate.wake();
    };
    const found = this.#accountRates.get(accountId) ?? this.#limiter(accountId, '', wake);
    this.#accountRates.set(accountId, found);
    return found;
  }

  #limiter(accountId: number, channel: string, wake: () => void): RateLimiter {
    const { grantRate, now } = this.#deps;
    const grant = (perSecond: number) => grantRate({ accountId, channel, perSecond });
    return new RateLimiter({ grant, wake, now });
  }
}

/** Whose idempotency covers a message: another account of the provider would send it again. */
export function identityOf({ provider, revision }: OpenSender): string {
  return `${provider.name}:${revision}`;
}
