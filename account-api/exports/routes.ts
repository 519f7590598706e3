import Type from 'typebox';
import { BODY, TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import { EXPIRES_AFTER_HOURS } from './export-store.ts';
import { createExport, listExports } from './handlers.ts';
import { EXPORT_FORMATS, EXPORT_KINDS, ExportBody } from './request.ts';

const exporting = {
  auth: 'key',
  permission: 'data.export',
  lock: true,
  features: ['async_exports'],
  flat: [],
  timeout: TIMEOUT.most,
} as const;

const Instant = Type.String({ format: 'date-time' });
const JOB = {
  id: Type.Integer(),
  kind: Type.Enum([...EXPORT_KINDS]),
  format: Type.Enum([...EXPORT_FORMATS]),
  status: Type.String({
    description: 'queued, running, ready, failed, expired; new values may appear',
  }),
  created_at: Instant,
  expires_at: Type.Optional(Instant),
  rows: Type.Optional(Type.Integer()),
  bytes: Type.Optional(Type.Integer()),
  error: Type.Optional(Type.String()),
};
const ExportQueued = Type.Object(
  { ...JOB, expires_after_hours: Type.Literal(EXPIRES_AFTER_HOURS) },
  { $id: 'ExportQueued' },
);
const ExportList = Type.Object(
  { data: Type.Array(Type.Object(JOB)), has_more: Type.Literal(false) },
  { $id: 'ExportList' },
);

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
    schemas: { response: ExportList, status: 200 },
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
    schemas: { request: ExportBody, response: ExportQueued, status: 202 },
    handler: createExport,
  },
];
