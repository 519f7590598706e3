import type { BodyDecider } from '../../ingest/body-decider.ts';
import type { Sealer } from '../../platform/sealing.ts';
import type { SelfServedRoute } from '../http/host.ts';
import { acceptDelivery, type DeliveryPorts } from './accept-delivery.ts';
import { connectionCounters } from './connection-counters.ts';
import type { ConnectionStore } from './connection-store.ts';
import { Connections } from './connections.ts';
import { WebhookServer, WEBHOOKS_PATH, type WebhookServerOptions } from './webhook-server.ts';

/** What inbound webhooks need from the installation. */
export interface WebhookClients {
  store: ConnectionStore;
  sealer: Sealer;
}

interface WebhookRoutesOptions extends Pick<
  WebhookServerOptions,
  'budget' | 'maxRequests' | 'trusted' | 'log' | 'now' | 'isClosing' | 'onAnswered'
> {
  /** Undefined: no sealing key, so the webhook route is not registered (ingest 4.6). */
  webhooks: WebhookClients | undefined;
  ports: Omit<DeliveryPorts, 'decider'>;
  decider: BodyDecider;
}

/** The routes of inbound webhooks; `close` writes what is pending before the process ends. */
export function webhookRoutes(options: WebhookRoutesOptions): {
  routes: SelfServedRoute[];
  close: (ms: number) => Promise<void>;
} {
  const { webhooks, ports, decider, log, now } = options;
  if (!webhooks) return { routes: [], close: () => Promise.resolve() };
  const { store, sealer } = webhooks;
  const counters = connectionCounters({
    store,
    onFailed: (error) =>
      log.warn(
        { err: error, code: 'webhook_counters_unwritten' },
        'counters of webhook connections cannot be written; the gateway retries',
      ),
  });
  const connections = new Connections({
    store,
    now,
    onUnreachable: (error) =>
      log.warn(
        { err: error, code: 'connections_unreachable' },
        'webhook connections cannot be read from PostgreSQL',
      ),
  });
  const delivering = { ...ports, decider };
  const server = new WebhookServer({
    ...{ ...options, connections, sealer, counters },
    accept: (delivery) => acceptDelivery(delivering, delivery),
  });
  const route: SelfServedRoute = {
    method: 'POST',
    path: WEBHOOKS_PATH,
    serve: ({ source = '', token = '' }, exchange) => server.serve({ source, token }, exchange),
  };
  return { routes: [route], close: (ms) => counters.close(ms) };
}
