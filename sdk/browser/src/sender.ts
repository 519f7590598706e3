import * as delivery from '../../shared/delivery.ts';
import { balanceNow } from './books.ts';
import { maySend } from './identity.ts';
import { MAX_BYTES, MAX_ITEMS, MAX_LEAVING_BYTES, SEEN_MS, TIMEOUT_MS } from './limits.ts';
import { emit } from './listeners.ts';
import { drop, end, itemOf, take } from './queue.ts';
import * as storage from './storage.ts';
import { HOLD } from './storage-keys.ts';

export const LIBRARY = { name: 'ravand-browser', version: '1.0.0' };

/** Until when no page sends (ms since the epoch), the next failure's number, the last status. */
type Hold = [until: number, failures: number, status: number];

interface Answer {
  message?: string;
  errors?: { index: number; reason?: string }[];
}

let url: string;
let timer: ReturnType<typeof setTimeout> | undefined;
let running: Promise<void> | undefined;
let max = MAX_ITEMS;
let lastLeft: string | undefined;
/** Events that the host has accepted from this page. */
export let sent = 0;

export function openSender(host: string, writeKey: string): void {
  url = `${host}/v1/batch?write_key=${writeKey}`;
  addEventListener('visibilitychange', () => document.hidden && leave());
  addEventListener('pagehide', leave);
  addEventListener('online', () => {
    if (storage.read<Hold>(HOLD)[2] === 0) storage.remove(HOLD);
    void flush();
  });
}

/** Sends what waits, until nothing waits or the host cannot take more now. */
export function flush(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  return (running ??= alone(drain).finally(() => (running = undefined)));
}

/** Flushes after so many ms, or earlier. */
export function flushIn(ms: number): void {
  timer ??= setTimeout(flush, ms);
}

/** Hands what waits to the browser, which may send it after the page: nobody knows whether. */
function leave(): void {
  if (!maySend() || heldFor()) return;
  const keys = take(MAX_ITEMS, MAX_LEAVING_BYTES);
  const last = keys.at(-1);
  // A page is hidden, and then closed: the second time there is nothing new.
  if (last && last !== lastLeft) navigator.sendBeacon(url, bodyOf(keys));
  lastLeft = last;
}

/** How long nobody sends, ms. A clock that was set back holds nothing for longer than a day. */
function heldFor(): number | false {
  // Without a hold it is NaN, which is not greater than 0.
  const ms = (storage.read<Hold>(HOLD)[0] as number) - Date.now();
  return ms > 0 && ms < delivery.LONGEST_DELAY_MS && ms;
}

function bodyOf(keys: string[]): string {
  return JSON.stringify({
    batch: keys.map(itemOf),
    sent_at: new Date(),
    context: { library: { ...LIBRARY, ...balanceNow() } },
  });
}

async function drain(): Promise<void> {
  while (maySend()) {
    const held = heldFor();
    if (held) {
      flushIn(held);
      return;
    }
    let keys = take(max, MAX_BYTES);
    // One that is larger than a batch is sent alone.
    if (!keys[0]) keys = take(1, Infinity);
    if (!keys[0]) return;
    const [status, retryAfter, answer] = await post(bodyOf(keys));
    const verdict = delivery.verdictOf(status, keys.length);
    if (verdict === delivery.SPLIT) max = keys.length >> 1;
    else if (verdict === delivery.RETRY) {
      const failures = storage.read<Hold>(HOLD)[1] ?? 1;
      storage.set(HOLD, [
        Date.now() + delivery.retryDelay(failures, retryAfter),
        failures + 1,
        status,
      ]);
    } else {
      max = MAX_ITEMS;
      if (verdict === delivery.HOLD) storage.set(HOLD, [Date.now() + delivery.HOLD_MS]);
      else storage.remove(HOLD);
      if (status === 401) console.error(`ravand: ${answer.message}`);
      for (const { index, reason } of answer.errors ?? [])
        drop([keys[index] as string], reason ?? '');
      if (verdict !== delivery.DONE) drop(keys, `http_${status} ${answer.message ?? ''}`);
      // None of those that were dropped.
      const ids = end(keys, 'sent');
      sent += ids.length;
      if (ids[0]) emit('sent', ids);
    }
  }
}

async function post(
  body: string,
): Promise<[status: number, retryAfter: string | null | undefined, Answer]> {
  let status = 0;
  let retryAfter: string | null | undefined;
  let answer: Answer = {};
  try {
    // A string is text/plain: no preflight goes before it to a host of another origin.
    const response = await fetch(url, {
      method: 'POST',
      body,
      redirect: 'error',
      credentials: 'omit',
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- new in Safari 16
      signal: AbortSignal.timeout?.(TIMEOUT_MS),
    });
    status = response.status;
    retryAfter = response.headers.get('retry-after');
    answer = { ...((await response.json()) as Answer) };
  } catch {
    // The host says 200 in JSON: a page for people is no answer, nor is one that broke off. What
    // proxies refuse is refused.
    if (status < 400) status = 0;
  }
  return [status, retryAfter, answer];
}

/** Ends what keeps other pages waiting since the last turn of this one. */
let endTurn: ((value?: unknown) => void) | undefined;

/**
 * Runs while no other page of the origin does, where the browser has Web Locks. A page may get the
 * lock some ms before it sees what the one before it wrote: a second lock, which that one keeps for
 * a while after its turn, makes it wait.
 */
async function alone(run: () => Promise<void>): Promise<void> {
  try {
    await navigator.locks.request(url, async () => {
      endTurn?.();
      await navigator.locks.request(`${url}1`, run);
      void navigator.locks.request(
        `${url}1`,
        () => new Promise((resolve) => setTimeout((endTurn = resolve), SEEN_MS)),
      );
    });
  } catch {
    // There are no locks here: the host recognises what two pages send.
    await run();
  }
}
