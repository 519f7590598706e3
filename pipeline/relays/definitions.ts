import { delay } from '../../platform/backoff.ts';
import type { Sealer } from '../../platform/sealing.ts';
import type { Log } from '../../platform/log.ts';
import { relayOf, type Relay } from './relay.ts';
import type { RelayStore } from './store.ts';

interface DefinitionParts {
  store: Pick<RelayStore, 'revision' | 'relays'>;
  sealer: Sealer | undefined;
  log: Log;
  now: () => number;
  /** Called with all enabled relays after each change. */
  changed: (relays: readonly Relay[]) => void;
}

/** Least time between the beginnings of two looks at the revision, ms: all partitions share one. */
const LOOK_EVERY = 50;

/** Account ids to their enabled relays. */
export type RelaysByAccount = ReadonlyMap<number, readonly Relay[]>;

/** The enabled relays, as PostgreSQL had them at a time that the reader names. */
export class Definitions {
  readonly #parts: DefinitionParts;
  #revision: string | undefined;
  #byAccount: RelaysByAccount = new Map();
  /** The relays at hand are those of this time or a later one, ms. */
  #asOf = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;

  constructor(parts: DefinitionParts) {
    this.#parts = parts;
  }

  /**
   * The relays as they were at `time` or later: whoever saved one before an event was accepted
   * finds it applied to the event. Rejects when PostgreSQL does. A time that has not come yet (a
   * clock that runs ahead) means now.
   */
  async asOf(time: number): Promise<RelaysByAccount> {
    const wanted = Math.min(time, this.#parts.now());
    // The second turn: the refresh under way may have begun too early.
    for (let turn = 0; turn < 2 && this.#asOf < wanted; turn++) await this.#refresh();
    return this.#byAccount;
  }

  #refresh(): Promise<void> {
    this.#refreshing ??= this.#read().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async #read(): Promise<void> {
    const { store, now } = this.#parts;
    await delay(Math.min(LOOK_EVERY, Math.max(0, this.#asOf + LOOK_EVERY - now())));
    const began = now();
    const revision = await store.revision();
    if (revision !== this.#revision) await this.#load();
    this.#asOf = began;
  }

  async #load(): Promise<void> {
    const { store, sealer, log, changed } = this.#parts;
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
    log.info({ relays: relays.length, revision }, 'relays were read');
  }
}
