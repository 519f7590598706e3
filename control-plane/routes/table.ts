import {
  listConnections,
  saveConnection,
  setConnectionEnabled,
} from '../webhook-connections/handlers.ts';
import {
  listDeliveries,
  listRelays,
  removeRelay,
  retryDeliveries,
  saveRelay,
} from '../relays/handlers.ts';
import type { ControlRoute } from './route.ts';

const reading = { method: 'GET', permission: 'settings.read', readsBody: false } as const;
const writing = { permission: 'settings.write', readsBody: true } as const;

/** Routes of the control plane (ingest 4.9), in the specification's order; all others are 404. */
export const routes: readonly ControlRoute[] = [
  { ...reading, path: '/v1/integrations', handler: listConnections },
  { ...writing, method: 'PUT', path: '/v1/integrations', handler: saveConnection },
  {
    ...writing,
    method: 'POST',
    path: '/v1/integrations/{source}/enabled',
    handler: setConnectionEnabled,
  },
  { ...reading, path: '/v1/relays', handler: listRelays },
  { ...writing, method: 'PUT', path: '/v1/relays', handler: saveRelay },
  { ...writing, method: 'DELETE', path: '/v1/relays/{id}', readsBody: false, handler: removeRelay },
  { ...reading, path: '/v1/relays/{id}/deliveries', handler: listDeliveries },
  {
    ...writing,
    method: 'POST',
    path: '/v1/relays/{id}/retry',
    readsBody: false,
    handler: retryDeliveries,
  },
];
