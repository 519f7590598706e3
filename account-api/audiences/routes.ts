import Type from 'typebox';
import { BODY, TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import { countAudience, validateAudience } from './handlers.ts';
import { audienceSchema } from '../../audiences/schema.ts';

const audience = {
  method: 'POST',
  auth: 'key',
  permission: 'segment.read',
  lock: false,
  features: [],
  bodyLimit: BODY.query,
  timeout: TIMEOUT.most,
} as const;

const AudienceValid = Type.Object(
  { valid: Type.Literal(true), conditions: Type.Integer(), depth: Type.Integer() },
  { $id: 'AudienceValid' },
);
const AudienceCount = Type.Object(
  {
    count: Type.Integer(),
    meta: Type.Object({
      fresh_until: Type.String({ format: 'date-time' }),
      elapsed_ms: Type.Integer(),
    }),
  },
  { $id: 'AudienceCount' },
);

export const audienceRoutes: readonly Route[] = [
  {
    ...audience,
    path: '/v1/audiences/validate',
    summary: 'Check an audience definition, without touching a database',
    cost: 1,
    flat: ['malformed_json'],
    coded: ['filter_invalid'],
    schemas: { request: audienceSchema, response: AudienceValid, status: 200 },
    handler: validateAudience,
  },
  {
    ...audience,
    path: '/v1/audiences/count',
    summary: 'Count the people of an audience',
    cost: 25,
    flat: ['malformed_json', 'filter_uncompilable', 'count_unavailable'],
    coded: [],
    schemas: { request: audienceSchema, response: AudienceCount, status: 200 },
    handler: countAudience,
  },
];
