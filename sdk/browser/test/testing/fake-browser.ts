import { vi } from 'vitest';
import type { LoadOptions, Ravand } from '../../src/types.ts';

export interface Batch {
  batch: { type: string; message_id: string; timestamp: string; [field: string]: unknown }[];
  sent_at: string;
  context: { library: { client: string; balance: Record<string, unknown> } };
}

type Answer =
  { status: number; body?: object | string; headers?: Record<string, string> } | 'lost' | 'never';

/** localStorage with a quota, in characters, which may be forbidden. */
export class FakeStorage {
  quota = 5 * 1024 * 1024;
  isForbidden = false;
  /** So many take place: the page was killed before the next one. */
  writesLeft = Infinity;
  readonly values = new Map<string, string>();

  #used(): number {
    return [...this.values].reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  }
  #check(): void {
    if (this.isForbidden) throw new DOMException('forbidden', 'SecurityError');
  }
  getItem(key: string): string | null {
    this.#check();
    return this.values.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    this.#check();
    const before = this.values.get(key);
    const added = value.length - (before?.length ?? -key.length);
    if (added > 0 && this.#used() + added > this.quota)
      throw new DOMException('full', 'QuotaExceededError');
    if (this.writesLeft-- > 0) this.values.set(key, value);
  }
  removeItem(key: string): void {
    this.#check();
    if (this.writesLeft-- > 0) this.values.delete(key);
  }
}

/** A browser whose pages are instances of the SDK's modules; nothing is drawn. */
export class FakeBrowser {
  readonly storage = new FakeStorage();
  /** Bodies of requests, in order. */
  readonly received: Batch[] = [];
  readonly beacons: Batch[] = [];
  readonly urls: string[] = [];
  next: Answer[] = [];
  otherwise: Answer = { status: 200, body: { status: 'ok' } };
  whenReceived: (() => void) | undefined;
  doNotTrack: string | null = null;
  isOnline = true;

  /** Opens a page and loads the SDK into it. Only the page that was opened last runs. */
  async open(options: LoadOptions = {}, address = 'https://shop.example/'): Promise<FakePage> {
    const page = new FakePage(this, address);
    vi.resetModules();
    const { makeRavand } = await import('../../src/ravand.ts');
    const none = () => Promise.reject(new Error('no entries here'));
    page.ravand = makeRavand({}, '', none);
    if (options.host !== 'later')
      page.ravand.load('wk_svc_0123456789ab', { host: 'https://in.example', ...options });
    return page;
  }

  readonly fetch = (url: string, { body }: { body: string }): Promise<Response> => {
    this.urls.push(url);
    this.received.push(JSON.parse(body) as Batch);
    this.whenReceived?.();
    const answer = this.next.shift() ?? this.otherwise;
    if (answer === 'lost') return Promise.reject(new TypeError('network error'));
    if (answer === 'never') return new Promise(() => undefined);
    const { body: given = {} } = answer;
    return Promise.resolve(
      typeof given === 'string' ? new Response(given, answer) : Response.json(given, answer),
    );
  };
}

export class FakePage {
  ravand!: Ravand;
  readonly document = Object.assign(new EventTarget(), {
    ...{ referrer: 'https://search.example/', title: 'فروشگاه', hidden: false },
    prerendering: false,
  });
  readonly #target = new EventTarget();

  constructor(browser: FakeBrowser, address: string) {
    const location = new URL(address);
    const change = (_state: unknown, _unused: string, url: string) => {
      location.href = new URL(url, location.href).href;
    };
    const storage = new Proxy(browser.storage, {
      ownKeys: (target) => {
        target.getItem('');
        return [...target.values.keys()];
      },
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    vi.stubGlobal('localStorage', storage);
    vi.stubGlobal('location', location);
    vi.stubGlobal('history', { pushState: change, replaceState: change });
    vi.stubGlobal('document', this.document);
    vi.stubGlobal('fetch', browser.fetch);
    vi.stubGlobal('navigator', {
      language: 'fa-IR',
      doNotTrack: browser.doNotTrack,
      get onLine() {
        return browser.isOnline;
      },
      sendBeacon: (_url: string, body: string) => {
        browser.beacons.push(JSON.parse(body) as Batch);
        return true;
      },
    });
    vi.stubGlobal('addEventListener', this.#target.addEventListener.bind(this.#target));
  }

  dispatch(type: string, facts: object = {}): void {
    this.#target.dispatchEvent(Object.assign(new Event(type), facts));
  }

  hide(): void {
    this.document.hidden = true;
    this.dispatch('visibilitychange');
  }
}
