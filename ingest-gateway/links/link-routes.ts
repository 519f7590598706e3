import type { Log } from '../../platform/log.ts';
import type { Turns } from '../../platform/http/turns.ts';
import type { Answered } from '../http/serve-events.ts';
import type { SelfServedRoute } from '../http/host.ts';
import { clickCounter } from './click-counter.ts';
import { LinkServer, LINKS_PATH } from './link-server.ts';
import type { LinkStore } from './link-store.ts';

interface LinkRoutesOptions {
  store: LinkStore;
  log: Log;
  now: () => number;
  turns: Turns;
  isClosing: () => boolean;
  onAnswered: Answered;
}

/** The route of short links; `close` writes what is pending before the process ends. */
export function linkRoutes(options: LinkRoutesOptions): {
  routes: SelfServedRoute[];
  close: (ms: number) => Promise<void>;
} {
  const { store, log } = options;
  const clicks = clickCounter({
    store,
    onFailed: (error) =>
      log.warn(
        { err: error, code: 'clicks_unwritten' },
        'clicks of short links cannot be written; the gateway retries',
      ),
  });
  const server = new LinkServer({
    ...options,
    clicks,
    onUnreachable: (error) =>
      log.warn(
        { err: error, code: 'links_unreachable' },
        'short links cannot be read from PostgreSQL; visitors get 404',
      ),
  });
  return {
    routes: [
      {
        method: 'GET',
        path: LINKS_PATH,
        serve: ({ code = '' }, exchange) => server.serve(code, exchange),
      },
    ],
    close: (ms) => clicks.close(ms),
  };
}
