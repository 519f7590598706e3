import { TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import { getCapabilities, getStatus, getWhoami } from './handlers.ts';

const always = {
  method: 'GET',
  features: [],
  bodyLimit: undefined,
  flat: [],
  coded: [],
  timeout: TIMEOUT.most,
} as const;
const trivial = { ...always, auth: 'key', permission: undefined, cost: 1, lock: false } as const;

export const introspectionRoutes: readonly Route[] = [
  {
    ...always,
    path: '/v1/status',
    summary: 'Whether the host runs',
    auth: 'none',
    schemas: { response: 'Status', status: 200 },
    handler: getStatus,
  },
  {
    ...trivial,
    path: '/v1/whoami',
    summary: 'The key that asks, and what it may do',
    schemas: { response: 'Whoami', status: 200 },
    handler: getWhoami,
  },
  {
    ...trivial,
    path: '/v1/capabilities',
    summary: 'Features and limits of this installation',
    schemas: { response: 'Capabilities', status: 200 },
    handler: getCapabilities,
  },
];
