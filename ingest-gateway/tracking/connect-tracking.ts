import type { TrackingTokens } from '../../events/channels/tracking-token.ts';
import type { EventWriter } from '../../ingest/event-writer.ts';
import type { CommandWriter } from '../../ingest/command-writer.ts';
import type { SelfServedRoute } from '../http/host.ts';
import type { OpenStore } from '../opens/open-store.ts';
import { recordOpens, type OpenCounts } from '../opens/record-opens.ts';
import type { RecipientOf } from './recipients.ts';
import { trackingRoutes, type TrackingRoutesOptions } from './tracking-routes.ts';

/** What the routes with tokens read: the keys of tokens, and messages in PostgreSQL. */
export interface TrackingClients {
  tokens: TrackingTokens;
  recipientOf: RecipientOf;
  opens: OpenStore;
}

interface TrackingOptions extends Omit<TrackingRoutesOptions, 'tokens' | 'ports'> {
  /** Undefined: TRACKING_KEYS is empty; then there are no routes. */
  clients: TrackingClients | undefined;
  commands: Pick<CommandWriter, 'write'>;
  writer: Pick<EventWriter, 'write'>;
}

/**
 * The routes of /e/ and of the bounce intake over their stores. Consents and bounces are commands
 * of channels, opens are events; `close` writes the opens that wait.
 */
export function connectTracking({ clients, commands, writer, ...serving }: TrackingOptions): {
  routes: SelfServedRoute[];
  opens: OpenCounts;
  close: (ms: number) => Promise<void>;
} {
  if (!clients)
    return { routes: [], opens: { waiting: 0, dropped: 0 }, close: () => Promise.resolve() };
  const { tokens, recipientOf } = clients;
  const opens = recordOpens({ store: clients.opens, writer, log: serving.log });
  const ports = {
    recipientOf,
    record: (...change: Parameters<CommandWriter['write']>) => commands.write(...change),
    recordOpen: opens.recordOpen,
  };
  return {
    routes: trackingRoutes({ ...serving, tokens, ports }),
    opens: opens.counts,
    close: opens.close,
  };
}
