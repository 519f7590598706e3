import { TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import { getIngestQuality } from '../quality/handlers.ts';
import { getSchemaEvents, getSchemaTraits } from './handlers.ts';

const query = {
  method: 'GET',
  auth: 'key',
  permission: 'event.read',
  cost: 5,
  lock: false,
  features: [],
  bodyLimit: undefined,
  timeout: TIMEOUT.most,
} as const;

export const schemaRoutes: readonly Route[] = [
  {
    ...query,
    path: '/v1/schema/events',
    summary: 'Names of events of the last 90 days, with their properties',
    flat: ['schema_unavailable'],
    coded: [],
    schemas: { response: 'SchemaEvents', status: 200 },
    handler: getSchemaEvents,
  },
  {
    ...query,
    path: '/v1/schema/traits',
    summary: 'What an audience may ask about people',
    flat: ['schema_unavailable'],
    coded: [],
    schemas: { response: 'SchemaTraits', status: 200 },
    handler: getSchemaTraits,
  },
  {
    ...query,
    path: '/v1/ingest/quality',
    summary: 'Events that were lost or corrected on the way in',
    query: { days: 'Days to look back, today included; default 7, at most 90' },
    flat: [],
    coded: ['quality_unavailable'],
    schemas: { response: 'IngestQuality', status: 200 },
    handler: getIngestQuality,
  },
];
