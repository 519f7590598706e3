import { delay } from '../../platform/backoff.ts';
import type { Sealer } from '../../platform/sealing.ts';
import type { Log } from '../../platform/log.ts';
import { relayOf, type Relay } from './relay.ts';
import type { RelayStore } from './store.ts';

interface DefinitionDeps {
  store: Pick<RelayStore, 'revision' | 'relays'>;
  sealer: Sealer | undefined;
  log: Log;
  now: () => number;
  /** Called with all enabled relays after each change. */
  changed: (relays: readonly Relay[]) => void;
}

/** Minimum time between two reads of the revision, ms; all partitions share one read. */
const MIN_READ_INTERVAL_MS = 50;
/** The same while no account has a relay: the first one gets its events that much later. */
const NO_RELAYS_READ_INTERVAL_MS = 1000;

/** Account ids to their enabled relays. */
export type RelaysByAccount = ReadonlyMap<number, readonly Relay[]>;

/** The enabled relays, at least as new as the caller requires. */
export class Definitions {
  readonly #deps: DefinitionDeps;
  #revision: string | undefined;
  #byAccount: RelaysByAccount = new Map();
  /** The relays in memory are those of this time or a later one, ms. */
  #asOf = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;

  constructor(deps: DefinitionDeps) {
    this.#deps = deps;
  }

  /**
   * The relays as they were at `time` or later: a relay that was saved before an event was accepted
   * applies to the event. Rejects when PostgreSQL does. A future time (a clock that is ahead) means
   * now.
   */
  async asOf(time: number): Promise<RelaysByAccount> {
    const wanted = Math.min(time, this.#deps.now());
    // Twice, because a refresh that is running may have begun before `time`.
    for (let turn = 0; turn < 2 && this.#asOf < wanted; turn++) await this.#refresh();
    return this.#byAccount;
  }

  #refresh(): Promise<void> {
    this.#refreshing ??= this.#read().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async #read(): Promise<void> {
    const { store, now } = this.#deps;
    const interval = this.#byAccount.size > 0 ? MIN_READ_INTERVAL_MS : NO_RELAYS_READ_INTERVAL_MS;
    await delay(Math.min(interval, Math.max(0, this.#asOf + interval - now())));
    const startedAt = now();
    const revision = await store.revision();
    if (revision !== this.#revision) await this.#load();
    this.#asOf = startedAt;
  }

  async #load(): Promise<void> {
    const { store, sealer, log, changed } = this.#deps;
    const { revision, rows } = await store.relays();
    const relays = rows.map((row) => relayOf(row, sealer));
    for (const { id, accountId, secret } of relays) {
      if (secret.kind === 'sealed')
        log.error(
          { code: 'relay_secret_sealed', relay_id: id, account_id: accountId },
          `deliveries of a relay ${secret.problem}`,
        );
    }
    this.#byAccount = Map.groupBy(relays, ({ accountId }) => accountId);
    this.#revision = revision;
    changed(relays);
    log.info({ relays: relays.length, revision }, 'loaded the relays');
  }
}
