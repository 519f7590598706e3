import type { ProfileName, ProfileStore } from './store.ts';
import type { Profile } from './profile.ts';

/**
 * Most names of one request, unless a single caller brings more: bounds the memory of an answer.
 */
const MOST_AT_ONCE = 200_000;

/** Some caller's part of a request. */
interface Share<Item, Answer> {
  items: readonly Item[];
  signal: AbortSignal;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * One request of a kind is under way at a time; what is asked for meanwhile goes together in the
 * next.
 */
class SharedRequests<Item, Answer> {
  readonly #send: (items: readonly Item[], signal: AbortSignal) => Promise<Answer>;
  #waiting: Share<Item, Answer>[] = [];
  #isRunning = false;

  constructor(send: (items: readonly Item[], signal: AbortSignal) => Promise<Answer>) {
    this.#send = send;
  }

  /**
   * Rejects with the error of the request, or when the signal aborts; the request itself is ended
   * only when nobody waits for it any more.
   */
  ask(items: readonly Item[], signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const leave = () => reject(signal.reason as Error);
      signal.addEventListener('abort', leave, { once: true });
      const settle = (result: () => void) => {
        signal.removeEventListener('abort', leave);
        result();
      };
      this.#waiting.push({
        ...{ items, signal },
        resolve: (answer) => settle(() => resolve(answer)),
        reject: (error) =>
          settle(() => reject(error instanceof Error ? error : new Error(String(error)))),
      });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const shares = this.#take();
      if (shares.length > 0) await this.#serve(shares);
    }
    this.#isRunning = false;
  }

  #take(): Share<Item, Answer>[] {
    const alive = this.#waiting.filter(({ signal }) => !signal.aborted);
    let [count, items] = [0, 0];
    for (const share of alive) {
      if (count > 0 && items + share.items.length > MOST_AT_ONCE) break;
      items += share.items.length;
      count++;
    }
    this.#waiting = alive.slice(count);
    return alive.slice(0, count);
  }

  async #serve(shares: readonly Share<Item, Answer>[]): Promise<void> {
    const nobody = new AbortController();
    const onAbort = () => {
      if (shares.every(({ signal }) => signal.aborted)) nobody.abort();
    };
    for (const { signal } of shares) signal.addEventListener('abort', onAbort);
    try {
      const answer = await this.#send(
        shares.flatMap(({ items }) => items),
        nobody.signal,
      );
      for (const { resolve } of shares) resolve(answer);
    } catch (error) {
      for (const { reject } of shares) reject(error);
    } finally {
      for (const { signal } of shares) signal.removeEventListener('abort', onAbort);
    }
  }
}

/**
 * A store whose callers share requests: partitions that load or save at the same time do so in one
 * query and one insert. A load reads most granules of `profiles` however many names it asks for
 * (docs/performance.md), and an insert makes a part.
 */
export function sharedRequests(store: ProfileStore): ProfileStore {
  const loads = new SharedRequests<ProfileName, ReadonlyMap<string, Profile>>((names, signal) =>
    store.load(names, signal),
  );
  const saves = new SharedRequests<Profile, void>((profiles, signal) =>
    store.save(profiles, signal),
  );
  return {
    load: (names, signal) => loads.ask(names, signal),
    save: (profiles, signal) => saves.ask(profiles, signal),
  };
}
