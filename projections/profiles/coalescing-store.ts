import type { PackedProfile, Profile } from './profile.ts';
import {
  ProfilesTooLarge,
  type LoadedProfiles,
  type ProfileId,
  type ProfileStore,
} from './store.ts';

/** Maximum items of a combined request, which bounds its response. One caller may exceed it. */
const MAX_ITEMS = 200_000;

/** One caller's share of a request. */
interface Call<Item, Response> {
  items: readonly Item[];
  signal: AbortSignal;
  resolve: (response: Response) => void;
  reject: (error: unknown) => void;
}

/** Sends one request at a time and combines the calls that arrive meanwhile into the next one. */
class RequestCoalescer<Item, Response> {
  readonly #send: (items: readonly Item[], signal: AbortSignal) => Promise<Response>;
  #pending: Call<Item, Response>[] = [];
  #isRunning = false;

  constructor(send: (items: readonly Item[], signal: AbortSignal) => Promise<Response>) {
    this.#send = send;
  }

  /**
   * Rejects with the error of the request, or when the signal aborts. The request itself is aborted
   * only when all its callers have aborted.
   */
  call(items: readonly Item[], signal: AbortSignal): Promise<Response> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
      const stopListening = () => signal.removeEventListener('abort', onAbort);
      this.#pending.push({
        items,
        signal,
        resolve(response) {
          stopListening();
          resolve(response);
        },
        reject(error) {
          stopListening();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#pending.length > 0) {
      const calls = this.#nextCalls();
      if (calls.length > 0) await this.#request(calls);
    }
    this.#isRunning = false;
  }

  #nextCalls(): Call<Item, Response>[] {
    const alive = this.#pending.filter(({ signal }) => !signal.aborted);
    let [count, items] = [0, 0];
    for (const call of alive) {
      if (count > 0 && items + call.items.length > MAX_ITEMS) break;
      items += call.items.length;
      count++;
    }
    this.#pending = alive.slice(count);
    return alive.slice(0, count);
  }

  async #request(calls: readonly Call<Item, Response>[]): Promise<void> {
    const request = new AbortController();
    const onAbort = () => {
      if (calls.every(({ signal }) => signal.aborted)) request.abort();
    };
    for (const { signal } of calls) signal.addEventListener('abort', onAbort);
    try {
      const items = calls.flatMap((call) => call.items);
      const response = await this.#send(items, request.signal);
      for (const { resolve } of calls) resolve(response);
    } catch (error) {
      // Together they are too large; each caller is asked to divide its own.
      if (error instanceof ProfilesTooLarge && calls.length > 1)
        for (const call of calls) await this.#request([call]);
      else for (const { reject } of calls) reject(error);
    } finally {
      for (const { signal } of calls) signal.removeEventListener('abort', onAbort);
    }
  }
}

/**
 * A store that combines concurrent loads into one query and concurrent saves into one insert. A
 * load reads most granules of `profiles` however many profiles it asks for (docs/performance.md),
 * and each insert creates a part.
 */
export function coalescingStore(store: ProfileStore): ProfileStore {
  const loads = new RequestCoalescer<ProfileId, LoadedProfiles>((ids, signal) =>
    store.load(ids, signal),
  );
  const saves = new RequestCoalescer<Profile | PackedProfile, void>((profiles, signal) =>
    store.save(profiles, signal),
  );
  return {
    load: (ids, signal) => loads.call(ids, signal),
    save: (profiles, signal) => saves.call(profiles, signal),
  };
}
