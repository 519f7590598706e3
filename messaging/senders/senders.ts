import type { Channel } from '../../events/channels/channel-change.ts';
import type { JsonObject } from '../../events/json.ts';
import { BatchedLookup } from '../../platform/batched-lookup.ts';
import type { Sealer } from '../../platform/sealing.ts';
import type { Provider } from '../providers/provider.ts';
import { JoinedProvider, type SenderMarks } from './joined-provider.ts';
import { joinLimits, readLimits, withoutLimits, type SenderLimits } from './limits.ts';
import { builtInSender, isSideBySide, senderPurpose, type StoredSender } from './sender.ts';
import { senderKey, type SenderKey, type SenderStore } from './sender-store.ts';
import { SharedProvider } from './shared-provider.ts';
import { unusableProvider } from './unusable-provider.ts';

/**
 * The senders of a channel that are open, as the store had them at most FRESH_MS ago: one, or those
 * side by side. They share the smallest of their limits.
 */
export interface OpenSender extends Pick<StoredSender, 'revision' | 'broken'> {
  provider: Provider;
  limits: SenderLimits;
}

/** Opens the provider of a sender; messaging/providers/registry.ts does. */
export type OpenProvider = (sender: {
  accountId: number;
  channel: Channel;
  provider: string;
  config: JsonObject;
  secret: string | undefined;
}) => Provider;

/** How long a sender is used before the store is asked whether it was changed, ms. */
const FRESH_MS = 1000;
/** Senders that one process keeps open. */
const MAX_OPEN = 500;
/** How long close() waits for calls of providers, ms. */
const CLOSE_MS = 30_000;

interface SendersOptions {
  store: Pick<SenderStore, 'find'>;
  /** SEALING_KEY; undefined: senders with a secret cannot send. */
  sealer: Sealer | undefined;
  open: OpenProvider;
  /** Of senders side by side; of all others whoever calls them learns it. */
  marks: SenderMarks;
  /** ms, monotonic */
  now: () => number;
  maxOpen?: number;
}

interface OpenPart {
  provider: Provider;
  limits: SenderLimits;
}

interface Entry {
  sender: OpenSender & { provider: SharedProvider };
  joined: JoinedProvider | undefined;
  readAt: number;
}

/**
 * The open providers of a process, one of each sender. A changed sender is opened anew; its former
 * provider ends the calls that it has. Those that are not used for longest are closed first.
 */
export class Senders {
  readonly #options: SendersOptions;
  readonly #rows: BatchedLookup<SenderKey, StoredSender[]>;
  /** In the order of their last use. */
  readonly #entries = new Map<SenderKey, Entry>();
  readonly #retired = new Set<SharedProvider>();

  constructor(options: SendersOptions) {
    this.#options = options;
    this.#rows = new BatchedLookup((keys) => options.store.find(keys));
  }

  /**
   * The sender (or senders) of an account's channel; undefined when there is none, or it is
   * disabled. That of the inbox need not be stored. One that cannot be opened answers every call
   * with `broken`. Rejects when the store does.
   */
  async open(accountId: number, channel: Channel): Promise<OpenSender | undefined> {
    const key = senderKey(accountId, channel);
    const entry = this.#entries.get(key);
    if (entry && this.#options.now() - entry.readAt < FRESH_MS) return this.#use(key, entry);
    const readAt = this.#options.now();
    const rows = (await this.#rows.find(key)) ?? [builtInSender(accountId, channel) ?? []].flat();
    const stored = usable(rows);
    const known = this.#entries.get(key);
    if (!stored) {
      if (known) this.#drop(key, known);
      return undefined;
    }
    // A lookup that began earlier may end later.
    if (known && known.sender.revision > stored.revision) return this.#use(key, known);
    if (known?.sender.revision === stored.revision) {
      known.joined?.update(stored.senders);
      return this.#use(key, {
        ...known,
        ...{ sender: { ...known.sender, broken: stored.broken }, readAt },
      });
    }
    if (known) this.#drop(key, known);
    return this.#use(key, { ...this.#openSenders(stored), readAt });
  }

  /** Closes all providers once their calls have ended, at the latest after CLOSE_MS. */
  async close(): Promise<void> {
    for (const [key, entry] of this.#entries) this.#drop(key, entry);
    const closing = Promise.allSettled([...this.#retired].map((provider) => provider.close()));
    const { promise: late, resolve } = Promise.withResolvers<unknown>();
    const timer = setTimeout(resolve, CLOSE_MS, undefined);
    await Promise.race([closing, late]);
    clearTimeout(timer);
  }

  #use(key: SenderKey, entry: Entry): OpenSender {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const { maxOpen = MAX_OPEN } = this.#options;
    for (const [oldest, other] of this.#entries) {
      if (this.#entries.size <= maxOpen) break;
      this.#drop(oldest, other);
    }
    return entry.sender;
  }

  #drop(key: SenderKey, { sender: { provider } }: Entry): void {
    this.#entries.delete(key);
    this.#retired.add(provider);
    provider.retire();
    void provider.closed.then(() => this.#retired.delete(provider));
  }

  #openSenders({ senders, revision, broken }: UsableSenders): Omit<Entry, 'readAt'> {
    const { marks, now } = this.#options;
    const open = (sender: StoredSender) => ({
      ...{ ...this.#openSender(sender), sender, isMarked: sender.broken !== undefined },
    });
    const [first, ...others] = senders;
    const parts = [open(first), ...others.map(open)] as const;
    const joined = others.length > 0 ? new JoinedProvider({ parts, marks, now }) : undefined;
    const provider = new SharedProvider(joined ?? parts[0].provider);
    const limits = joinLimits(parts.map((part) => part.limits));
    return { sender: { provider, limits, revision, broken }, joined };
  }

  #openSender(stored: StoredSender): OpenPart {
    const { accountId, channel, provider: name, config } = stored;
    try {
      const limits = readLimits(config, name);
      const own = { accountId, channel, provider: name, config: withoutLimits(config) };
      const provider = this.#options.open({ ...own, secret: this.#secretOf(stored) });
      return { provider, limits };
    } catch (error) {
      const provider = unusableProvider({ channel, name, detail: (error as Error).message });
      const limits = { perSecond: undefined, concurrency: 1 };
      return { provider, limits };
    }
  }

  #secretOf({ accountId, channel, secret }: StoredSender): string | undefined {
    if (!secret) return undefined;
    const { sealer } = this.#options;
    if (!sealer) throw new Error('SEALING_KEY is empty, so the secret cannot be opened');
    return sealer.open(secret, senderPurpose({ accountId, channel }));
  }
}

interface UsableSenders {
  senders: readonly [StoredSender, ...StoredSender[]];
  /** Of the last change of any sender of the channel. */
  revision: number;
  /** None of them can send. */
  broken: StoredSender['broken'];
}

/** The enabled senders of a channel; of those that replace each other the last one. */
function usable(rows: readonly StoredSender[]): UsableSenders | undefined {
  const last = rows.toSorted((a, b) => b.revision - a.revision)[0];
  const current = rows.filter(
    (row) => row === last || (isSideBySide(row) && last && isSideBySide(last)),
  );
  const [first, ...others] = current.filter(({ enabled }) => enabled);
  if (!last || !first) return undefined;
  const isBroken = [first, ...others].every(({ broken }) => broken);
  return {
    senders: [first, ...others],
    ...{ revision: last.revision, broken: isBroken ? first.broken : undefined },
  };
}
