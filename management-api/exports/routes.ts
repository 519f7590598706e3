import { BODY, TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import { createExport, listExports } from './handlers.ts';

const exporting = {
  auth: 'key',
  permission: 'data.export',
  lock: true,
  features: ['async_exports'],
  flat: [],
  timeout: TIMEOUT.most,
} as const;

export const exportRoutes: readonly Route[] = [
  {
    ...exporting,
    method: 'GET',
    path: '/v1/exports',
    summary: 'The newest exports',
    query: { limit: 'Entries; default 25, at most 100', cursor: 'Has no effect' },
    cost: 1,
    bodyLimit: undefined,
    coded: ['export_unavailable'],
    schemas: { response: 'ExportList', status: 200 },
    handler: listExports,
  },
  {
    ...exporting,
    method: 'POST',
    path: '/v1/exports',
    summary: 'Queue an export; a repeated request queues another one',
    cost: 25,
    bodyLimit: BODY.most,
    coded: ['malformed_json', 'export_kind_invalid', 'export_spec_invalid', 'export_unavailable'],
    schemas: { request: 'ExportRequest', response: 'ExportQueued', status: 202 },
    handler: createExport,
  },
];
