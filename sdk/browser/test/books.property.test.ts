import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import type * as Books from '../src/books.ts';
import { SharedStorage, type PageStorage } from './testing/shared-storage.ts';

/** What other pages wrote is seen after less than this, ms. */
const SEEN_MS = 50_000;
const PAGES = 4;

interface Page {
  view: PageStorage;
  books: typeof Books;
}

type Step =
  | { do: 'count'; page: number }
  /** Between two of its writes another page counts; or it is killed before one of them. */
  | { do: 'balance'; page: number; after: number; other: number; isKilled: boolean }
  /** See what others wrote; or the page is another one. */
  | { do: 'see' | 'open'; page: number }
  | { do: 'wait'; ms: number };

const page = fc.nat(PAGES - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('count' as const), page }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ do: fc.constant('balance' as const), page, after: fc.nat(80) },
      ...{ other: page, isKilled: fc.boolean() },
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('see', 'open'), page }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(1000), fc.nat(400_000)),
    }),
  },
);

/** Pages that counted and are closed: about as many as are added up, and more. */
const before = fc.integer({ min: 45, max: 75 });

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

async function open(shared: SharedStorage): Promise<Page> {
  const view = shared.open();
  vi.resetModules();
  const storage = await import('../src/storage.ts');
  const books = await import('../src/books.ts');
  const { openIdentity } = await import('../src/identity.ts');
  storage.openStorage('0123456789ab');
  openIdentity('granted');
  return { view, books };
}

/** Runs code of a page. */
function as<T>({ view }: Page, run: () => T): T {
  const before: unknown = Reflect.get(globalThis, 'localStorage');
  vi.stubGlobal('localStorage', view.local);
  try {
    return run();
  } finally {
    vi.stubGlobal('localStorage', before);
  }
}

it('the balance has each call once, whatever pages do at the same time and where they are killed', async () => {
  await fc.assert(
    fc.asyncProperty(before, fc.array(step, { maxLength: 80 }), async (earlier, steps) => {
      vi.useFakeTimers({ now: Date.parse('2026-11-24T03:00:00Z') });
      const shared = new SharedStorage();
      const pages: Page[] = [];
      for (let at = 0; at < PAGES; at++) pages.push(await open(shared));
      let made = 0;
      const count = (one: Page) => {
        made++;
        as(one, () => one.books.count({ made: 1, stored: 1 }));
      };
      for (let number = 0; number < earlier; number++) {
        count(pages[0] as Page);
        pages[0] = await open(shared);
      }
      for (const one of steps)
        if (one.do === 'wait') {
          // Nothing stays unseen for as long as the books take for granted.
          for (let left = one.ms; left > 0; left -= SEEN_MS) {
            vi.setSystemTime(Date.now() + Math.min(left, SEEN_MS));
            for (const { view } of pages) view.see();
          }
        } else {
          const at = one.page;
          const here = pages[at] as Page;
          if (one.do === 'count') count(here);
          if (one.do === 'see') here.view.see();
          if (one.do === 'open') pages[at] = await open(shared);
          if (one.do === 'balance') {
            const other = pages[one.other] as Page;
            here.view.beforeWrite(one.after, () => {
              if (one.isKilled) here.view.kill();
              else if (other !== here) count(other);
            });
            as(here, () => here.books.balanceNow());
            here.view.beforeWrite(0, undefined);
            if (here.view.isDead) pages[at] = await open(shared);
          }
        }
      const last = await open(shared);
      const { balance } = as(last, () => last.books.balanceNow());
      expect(balance).toEqual({ made, stored: made, sent: 0, dropped: {} });
    }),
    // To shrink the steps takes minutes.
    { numRuns: 200, endOnFailure: true },
  );
}, 120_000);
