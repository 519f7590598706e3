import Type from 'typebox';
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

const Day = Type.String({ format: 'date' });
const SchemaEvents = Type.Object(
  {
    events: Type.Array(
      Type.Object({
        name: Type.String(),
        volume: Type.Integer(),
        prop_keys: Type.Optional(Type.Array(Type.String())),
        last_seen: Type.Optional(Day),
      }),
    ),
  },
  { $id: 'SchemaEvents' },
);
/** What attributes and engagement metrics have in common. */
const OFFERED = {
  name: Type.String(),
  kind: Type.String(),
  operators: Type.Array(Type.String()),
  label: Type.String(),
  computed: Type.Boolean(),
};
const SchemaTraits = Type.Object(
  {
    traits: Type.Array(Type.String()),
    schema: Type.Array(
      Type.Object({
        name: Type.String(),
        kind: Type.Enum(['string', 'number']),
        users: Type.Integer(),
      }),
    ),
    builtin: Type.Array(
      Type.Object({
        ...OFFERED,
        description: Type.String(),
        use: Type.Optional(Type.String()),
      }),
    ),
    engagement: Type.Object({
      metrics: Type.Array(Type.Object(OFFERED)),
      bands: Type.Array(Type.String()),
    }),
  },
  { $id: 'SchemaTraits' },
);
const IngestQuality = Type.Object(
  {
    days: Type.Integer(),
    from: Day,
    to: Day,
    totals: Type.Object({ rejected: Type.Integer(), warned: Type.Integer() }),
    rows: Type.Array(
      Type.Object({
        day: Day,
        kind: Type.Enum(['reject', 'warn']),
        code: Type.String(),
        field: Type.Optional(Type.String()),
        sdk: Type.String(),
        app_id: Type.Integer(),
        count: Type.Integer(),
        label: Type.String(),
      }),
    ),
  },
  { $id: 'IngestQuality' },
);

export const schemaRoutes: readonly Route[] = [
  {
    ...query,
    path: '/v1/schema/events',
    summary: 'Names of events of the last 90 days, with their properties',
    flat: ['schema_unavailable'],
    coded: [],
    schemas: { response: SchemaEvents, status: 200 },
    handler: getSchemaEvents,
  },
  {
    ...query,
    path: '/v1/schema/traits',
    summary: 'What an audience may ask about people',
    flat: ['schema_unavailable'],
    coded: [],
    schemas: { response: SchemaTraits, status: 200 },
    handler: getSchemaTraits,
  },
  {
    ...query,
    path: '/v1/ingest/quality',
    summary: 'Events that were lost or corrected on the way in',
    query: { days: 'Days to look back, today included; default 7, at most 90' },
    flat: [],
    coded: ['quality_unavailable'],
    schemas: { response: IngestQuality, status: 200 },
    handler: getIngestQuality,
  },
];
