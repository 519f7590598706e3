import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { FakeBrowser, type Batch, type FakePage } from './testing/fake-browser.ts';

const HOUR = 3_600_000;
/** How long a host remembers message ids (ingest 2.5). */
const REMEMBERED_MS = 48 * HOUR;

/** What a host and the network do with a request. */
const FATES = ['accept', 'lost', 'refuse', 'captive', 503, 429, 502] as const;
type Fate = (typeof FATES)[number];

/** A host that recognises message ids for 48 hours. */
class ModelHost {
  fate: Fate = 'accept';
  readonly #seen = new Map<string, number>();
  /** Each time that an event became one of its own. */
  readonly stored: string[] = [];

  accept({ batch }: Batch): void {
    for (const { message_id: id } of batch) {
      const before = this.#seen.get(id);
      if (before !== undefined && Date.now() - before < REMEMBERED_MS) continue;
      this.#seen.set(id, Date.now());
      this.stored.push(id);
    }
  }

  readonly fetch = (_url: string, { body }: { body: string }): Promise<Response> => {
    const { fate } = this;
    if (fate === 'accept' || fate === 'lost') this.accept(JSON.parse(body) as Batch);
    if (fate === 'lost' || fate === 'refuse') return Promise.reject(new TypeError('network error'));
    if (fate === 'captive')
      return Promise.resolve(new Response('', { headers: { 'content-type': 'text/html' } }));
    const status = fate === 'accept' ? 200 : fate;
    return Promise.resolve(Response.json({ status: 'ok' }, { status }));
  };
}

type Step =
  | { do: 'track' | 'flush' | 'open' | 'kill' | 'offline' | 'online' }
  | { do: 'leave'; arrives: boolean }
  | { do: 'wait'; ms: number }
  | { do: 'host'; fate: Fate };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('track' as const) }) },
  fc.record({ do: fc.constantFrom('flush', 'open', 'kill', 'offline', 'online') }),
  fc.record({ do: fc.constant('leave' as const), arrives: fc.boolean() }),
  fc.record({
    do: fc.constant('wait' as const),
    ms: fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: 60 * HOUR })),
  }),
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('host' as const), fate: fc.constantFrom(...FATES) }),
  },
);

const OPTIONS = { autoPage: false, flushInterval: 1000, flushAt: 3 };

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** What became of the calls. */
async function run(steps: readonly Step[]) {
  vi.useFakeTimers({ now: Date.parse('2026-11-23T12:00:00Z') });
  const browser = new FakeBrowser();
  const host = new ModelHost();
  Object.assign(browser, { fetch: host.fetch });
  const made: string[] = [];
  const given = new Map<string, string>();
  const open = async () => {
    const opened = await browser.open(OPTIONS);
    opened.ravand.on('rejected', ({ ids, reason }) => {
      for (const id of ids) given.set(id, reason);
    });
    return opened;
  };
  let page: FakePage = await open();
  const online = () => {
    browser.isOnline = true;
    page.dispatch('online');
  };
  for (const one of steps)
    switch (one.do) {
      case 'track':
        made.push(page.ravand.track('e'));
        break;
      case 'flush':
        await page.ravand.flush();
        break;
      case 'kill': {
        // Nothing of the page happens any more; clearing timers sets the clock back.
        const now = Date.now();
        vi.clearAllTimers();
        vi.setSystemTime(now);
        page = await open();
        break;
      }
      case 'open':
        page = await open();
        break;
      case 'leave': {
        const before = browser.beacons.length;
        page.hide();
        const [beacon] = browser.beacons.slice(before);
        if (beacon && one.arrives) host.accept(beacon);
        page.document.hidden = false;
        break;
      }
      case 'wait':
        await vi.advanceTimersByTimeAsync(one.ms % 10_000);
        // A machine that sleeps: no timer runs meanwhile.
        vi.setSystemTime(Date.now() + one.ms - (one.ms % 10_000));
        break;
      case 'offline':
        browser.isOnline = false;
        break;
      case 'online':
        online();
        break;
      case 'host':
        host.fate = one.fate;
        break;
    }
  host.fate = 'accept';
  online();
  for (let round = 0; round < 10; round++) {
    await vi.advanceTimersByTimeAsync(300_000);
    await page.ravand.flush();
  }
  await Promise.resolve();
  return { made, stored: host.stored, given, waiting: (await page.ravand.flush()).pending };
}

it('whatever happens, each event is stored once, or was given up because nobody can know', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const { made, stored, given, waiting } = await run(steps);
      expect(waiting).toBe(0);
      expect(new Set(stored).size).toBe(stored.length);
      for (const id of made) if (!stored.includes(id)) expect(given.get(id)).toBe('unknown');
      for (const reason of given.values()) expect(reason).toBe('unknown');
    }),
    { numRuns: 200 },
  );
}, 120_000);
