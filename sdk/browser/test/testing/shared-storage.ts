/**
 * localStorage as browsers share it between processes: a page sees its own writes at once, and
 * those of others later, in the order in which they were made.
 */
export class SharedStorage {
  readonly values = new Map<string, string>();
  readonly #views: PageStorage[] = [];

  open(): PageStorage {
    const view = new PageStorage(this, new Map(this.values));
    this.#views.push(view);
    return view;
  }

  write(from: PageStorage, key: string, value: string | undefined): void {
    write(this.values, key, value);
    for (const view of this.#views) if (view !== from) view.unseen.push([key, value]);
  }
}

function write(values: Map<string, string>, key: string, value: string | undefined): void {
  if (value === undefined) values.delete(key);
  else values.set(key, value);
}

export class PageStorage {
  readonly unseen: [key: string, value: string | undefined][] = [];
  isDead = false;
  readonly #shared: SharedStorage;
  readonly #seen: Map<string, string>;
  #before: { writes: number; run: () => void } | undefined;

  constructor(shared: SharedStorage, seen: Map<string, string>) {
    this.#shared = shared;
    this.#seen = seen;
  }

  /** From now on nothing that the page writes reaches others. */
  kill(): void {
    this.isDead = true;
  }

  /** What others have written so far. */
  see(): void {
    for (const [key, value] of this.unseen.splice(0)) write(this.#seen, key, value);
  }

  /** Runs something after so many writes from now, before the next one. */
  beforeWrite(writes: number, run: (() => void) | undefined): void {
    this.#before = run && { writes, run };
  }

  #write(key: string, value: string | undefined): void {
    const before = this.#before;
    if (before && before.writes-- === 0) {
      this.#before = undefined;
      before.run();
    }
    write(this.#seen, key, value);
    if (!this.isDead) this.#shared.write(this, key, value);
  }

  readonly local: object = new Proxy(
    {
      getItem: (key: string) => this.#seen.get(key) ?? null,
      setItem: (key: string, value: string) => this.#write(key, value),
      removeItem: (key: string) => this.#write(key, undefined),
    },
    {
      ownKeys: () => [...this.#seen.keys()],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    },
  );
}
