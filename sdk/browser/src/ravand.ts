import { openClient } from './client.ts';
import { idAt, nextTime } from './clock.ts';
import type { LoadEntry } from './entry.ts';
import type { LoadOptions, Ravand } from './types.ts';

/** A call that waits for `load`: method, arguments, message id, time. The snippet makes such. */
export type WaitingCall = [method: string, given: unknown[], id: string, time: number];

/** What the snippet makes, and this module where there is no snippet: calls wait in `q`. */
export interface EarlyRavand {
  q?: WaitingCall[] | undefined;
}

type Methods = Record<string, ((...given: unknown[]) => unknown) | undefined>;

/**
 * The SDK, before and after `load`.
 * @param early becomes it
 * @param host the default of the option
 */
export function makeRavand(early: EarlyRavand, host: string, loadEntry: LoadEntry): Ravand {
  const ravand = early as Methods;
  const waiting = (early.q ??= []);
  for (const method of ['track', 'identify', 'page', 'screen', 'alias', 'reset', 'consent', 'on'])
    ravand[method] ??= (...given) => {
      const time = nextTime();
      const id = idAt(time);
      waiting.push([method, given, id, time]);
      return id;
    };
  const load = (writeKey: string, options?: LoadOptions) => {
    if (early.q) {
      Object.assign(ravand, openClient(writeKey, { host, ...options }, loadEntry));
      early.q = undefined;
      for (const [method, [first, second, more], message_id, timestamp] of waiting)
        // Of all calls that make an event, the options are the third argument.
        ravand[method]?.(first, second, { message_id, timestamp, ...(more as object) });
    }
    return ravand;
  };
  ravand['load'] = load as Methods[string];
  for (const [method, given] of waiting)
    if (method === 'load') load(...(given as [string, LoadOptions]));
  return ravand as unknown as Ravand;
}
