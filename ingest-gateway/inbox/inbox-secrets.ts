import { inboxSecretPurpose } from '../../events/channels/inbox-credential.ts';
import { delay } from '../../platform/backoff.ts';
import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { OpenedSecrets } from '../webhooks/opened-secrets.ts';
import type { InboxStore, SealedSecrets } from './inbox-store.ts';

interface InboxSecretsOptions {
  store: Pick<InboxStore, 'secrets'>;
  /** Undefined: the installation has no sealing key, so nothing can be opened. */
  sealer: Pick<Sealer, 'open'> | undefined;
  now: () => number;
  capacity?: number;
}

interface Known {
  secrets: readonly string[];
  at: number;
}

/** How long a secret that was retired is still accepted, ms. */
const CACHED_MS = 5000;
/** The secrets of an app are read at most once in this time, ms. */
const REFRESH_MS = 500;
/** Credentials of one app that wait for it; further ones are refused at once. */
const MAX_WAITING = 64;

/**
 * The live inbox secrets of apps. A credential under a secret that was made a moment ago is
 * accepted: one that fails is compared again with secrets that are read anew. Those are read at
 * most twice a second for each app, and few credentials wait for that, so that wrong ones cost
 * neither the store nor the other requests much.
 */
export class InboxSecrets {
  readonly #options: InboxSecretsOptions;
  readonly #lookup: BatchedLookup<number, SealedSecrets>;
  readonly #known: BoundedMap<number, Known>;
  readonly #opened: OpenedSecrets | undefined;
  /** By app. */
  readonly #waiting = new Map<number, number>();

  constructor(options: InboxSecretsOptions) {
    this.#options = options;
    this.#lookup = new BatchedLookup((appIds) => options.store.secrets(appIds));
    this.#known = new BoundedMap(options.capacity ?? 10_000);
    this.#opened = options.sealer && new OpenedSecrets(options.sealer);
  }

  /**
   * Whether one of the app's live secrets passes. Rejects when they cannot be read or opened, which
   * is a fault of ours.
   */
  async isSigned(
    app: { accountId: number; appId: number },
    passes: (secrets: readonly string[]) => boolean,
  ): Promise<boolean> {
    const { now } = this.#options;
    const askedAt = now();
    const known = this.#known.get(app.appId);
    if (known && askedAt - known.at < CACHED_MS && passes(known.secrets)) return true;
    const wait = known ? known.at + REFRESH_MS - askedAt : 0;
    if (wait > 0 && !(await this.#wait(app.appId, wait))) return false;
    const read = this.#known.get(app.appId);
    if (read && read.at > askedAt) return passes(read.secrets);
    const at = now();
    const secrets = await this.#read(app);
    this.#known.set(app.appId, { secrets, at });
    return passes(secrets);
  }

  /** False: too many wait. */
  async #wait(appId: number, ms: number): Promise<boolean> {
    const waiting = this.#waiting.get(appId) ?? 0;
    if (waiting >= MAX_WAITING) return false;
    this.#waiting.set(appId, waiting + 1);
    await delay(ms);
    const left = (this.#waiting.get(appId) ?? 1) - 1;
    if (left === 0) this.#waiting.delete(appId);
    else this.#waiting.set(appId, left);
    return true;
  }

  async #read(app: { accountId: number; appId: number }): Promise<readonly string[]> {
    const found = await this.#lookup.find(app.appId);
    if (found?.accountId !== app.accountId) return [];
    const opened = this.#opened;
    if (!opened) throw new Error('SEALING_KEY is empty: inbox secrets cannot be opened');
    return found.sealed.map((sealed) => opened.open(sealed, inboxSecretPurpose(app)));
  }
}
