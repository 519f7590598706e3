import type { TrackingTokens } from '../../events/channels/tracking-token.ts';
import type { EventWriter } from '../../ingest/event-writer.ts';
import type { CommandWriter } from '../../ingest/command-writer.ts';
import type { SelfServedRoute } from '../http/host.ts';
import type { OpenStore } from '../opens/open-store.ts';
import { recordOpens, type OpenCounts } from '../opens/record-opens.ts';
import { announcingOptOuts, type AnnounceOptOut, type OptOutCounts } from './announce-opt-outs.ts';
import type { RecipientOf } from './recipients.ts';
import { trackingRoutes, type TrackingRoutesOptions } from './tracking-routes.ts';

/** What the routes with tokens read: the keys of tokens, and messages in PostgreSQL. */
export interface TrackingClients {
  tokens: TrackingTokens;
  recipientOf: RecipientOf;
  opens: OpenStore;
  announceOptOut: AnnounceOptOut;
}

interface TrackingOptions extends Omit<TrackingRoutesOptions, 'tokens' | 'ports'> {
  /** Undefined: TRACKING_KEYS is empty; then there are no routes. */
  clients: TrackingClients | undefined;
  commands: Pick<CommandWriter, 'write'>;
  writer: Pick<EventWriter, 'write'>;
}

const NONE = {
  routes: [],
  opens: { waiting: 0, dropped: 0 },
  optOuts: { announced: 0, unannounced: 0 },
};

/**
 * The routes of /e/ and of the bounce intake over their stores. Consents and bounces are commands
 * of channels, opens are events; `close` writes the opens that wait.
 */
export function connectTracking({ clients, commands, writer, ...serving }: TrackingOptions): {
  routes: SelfServedRoute[];
  opens: OpenCounts;
  optOuts: OptOutCounts;
  close: (ms: number) => Promise<void>;
} {
  if (!clients) return { ...NONE, close: () => Promise.resolve() };
  const { tokens, recipientOf } = clients;
  const opens = recordOpens({ store: clients.opens, writer, log: serving.log });
  const optOuts: OptOutCounts = { announced: 0, unannounced: 0 };
  const record = announcingOptOuts({
    ...{ commands, announce: clients.announceOptOut, counts: optOuts },
    onFailed: (error) =>
      serving.log.error(
        { err: error, code: 'opt_out_unannounced' },
        'an opt-out is in the spool, and those who send do not know of it: it was answered 503',
      ),
  });
  const ports = { recipientOf, record, recordOpen: opens.recordOpen };
  return {
    routes: trackingRoutes({ ...serving, tokens, ports }),
    opens: opens.counts,
    optOuts,
    close: opens.close,
  };
}
