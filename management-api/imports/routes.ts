import Type from 'typebox';
import { BODY, TIMEOUT } from '../../account-api/http/limits.ts';
import type { ManagementRoute } from '../route.ts';
import { EventImportBody, importEvents } from './handlers.ts';

const EventImported = Type.Object(
  {
    accepted: Type.Integer(),
    rejected: Type.Optional(Type.Integer()),
    errors: Type.Optional(
      Type.Array(Type.Object({ index: Type.Integer(), reason: Type.String() })),
    ),
  },
  { $id: 'EventImported' },
);

export const importRoutes: readonly ManagementRoute[] = [
  {
    method: 'POST',
    path: '/v1/events',
    summary: 'Import 1 to 500 events; nothing is de-duplicated',
    auth: 'key',
    permission: 'profile.write',
    cost: 5,
    lock: false,
    features: ['ingest'],
    bodyLimit: BODY.most,
    bodyAs: 'bytes',
    flat: [],
    coded: [
      'malformed_json',
      'batch_empty',
      'quota_cancelled',
      'quota_trial_over',
      'quota_event_cap',
      'batch_too_large',
      'all_events_rejected',
      'ingest_unavailable',
    ],
    timeout: TIMEOUT.most,
    schemas: { request: EventImportBody, response: EventImported, status: 202 },
    handler: importEvents,
  },
];
