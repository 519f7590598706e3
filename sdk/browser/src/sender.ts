import { HOLD_MS, LONGEST_DELAY_MS, retryDelay, verdictOf } from '../../shared/delivery.ts';
import { balanceNow } from './books.ts';
import { maySend } from './identity.ts';
import { MAX_BYTES, MAX_ITEMS, MAX_LEAVING_BYTES, TIMEOUT_MS } from './limits.ts';
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
    if (hold()[2] === 0) storage.remove(HOLD);
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

const hold = () => storage.read<Hold>(HOLD);

/** How long nobody sends, ms. A clock that was set back holds nothing for longer than a day. */
function heldFor(): number {
  // Without a hold it is NaN, which is not greater than 0.
  const ms = (hold()[0] as number) - Date.now();
  return ms > 0 && ms < LONGEST_DELAY_MS ? ms : 0;
}

function bodyOf(keys: string[]): string {
  const context = { library: { ...LIBRARY, ...balanceNow() } };
  return JSON.stringify({ batch: keys.map(itemOf), sent_at: new Date(), context });
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
    const verdict = verdictOf(status, keys.length);
    if (verdict === 'split') max = keys.length >> 1;
    else if (verdict === 'retry') {
      const { 1: failures = 1 } = hold();
      storage.set(HOLD, [Date.now() + retryDelay(failures, retryAfter), failures + 1, status]);
    } else {
      max = MAX_ITEMS;
      storage.remove(HOLD);
      if (verdict === 'hold') storage.set(HOLD, [Date.now() + HOLD_MS]);
      if (status === 401) console.error(`ravand: ${answer.message}`);
      for (const { index, reason } of answer.errors ?? [])
        drop([keys[index] as string], reason ?? '');
      if (verdict !== 'done') drop(keys, `http_${status} ${answer.message ?? ''}`);
      // None of those that were dropped.
      const ids = end(keys, 'sent');
      sent += ids.length;
      if (ids[0]) emit('sent', ids);
    }
  }
}

async function post(body: string): Promise<[number, string | null, Answer]> {
  let status = 0;
  let retryAfter: string | null = null;
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

/** Runs while no other page of the origin does, as far as the browser can tell. */
async function alone(run: () => Promise<void>): Promise<void> {
  try {
    await navigator.locks.request(url, run);
  } catch {
    // There are no locks here: the host recognises what two pages send.
    await run();
  }
}
