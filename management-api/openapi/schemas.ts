import { catalogue } from '../errors/catalogue.ts';
import { permissions, roles } from '../auth/roles.ts';
import { EXPORT_FORMATS, EXPORT_KINDS } from '../exports/request.ts';
import { decideFeatures, LIMITS } from '../introspection/features.ts';

export type Schema = Record<string, unknown>;

const text: Schema = { type: 'string' };
const whole: Schema = { type: 'integer' };
const flag: Schema = { type: 'boolean' };
const instant: Schema = { type: 'string', format: 'date-time' };
const date: Schema = { type: 'string', format: 'date' };
const number: Schema = { type: 'number' };

/** An object; keys that end in `?` may be absent. */
function object(properties: Record<string, Schema>): Schema {
  const keys = Object.entries(properties).map(
    ([key, schema]) => [key.replace('?', ''), schema] as const,
  );
  const required = Object.keys(properties).filter((key) => !key.endsWith('?'));
  return {
    type: 'object',
    properties: Object.fromEntries(keys),
    ...(required.length === 0 ? {} : { required }),
  };
}

const list = (items: Schema): Schema => ({ type: 'array', items });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const nullable = (type: string): Schema => ({ type: [type, 'null'] });
const sameType = (values: object, schema: Schema) =>
  object(Object.fromEntries(Object.keys(values).map((key) => [key, schema])));

const off = { segments: false, analytics: false, ingest: false, asyncExports: false };
const builtIn = { name: text, kind: text, operators: list(text), label: text, computed: flag };
const exportItem = {
  id: whole,
  kind: { enum: EXPORT_KINDS },
  format: { enum: EXPORT_FORMATS },
  status: {
    type: 'string',
    description: 'queued, running, ready, failed, expired; new ones may appear',
  },
  created_at: instant,
  'expires_at?': instant,
  'rows?': whole,
  'bytes?': whole,
  'error?': text,
};
const filter = object({
  'property?': text,
  'field?': text,
  'trait?': text,
  op: text,
  'value?': {},
});
const step = object({ event: text, 'filters?': list(filter) });

/** The schemas of requests and answers that the route table names. */
export const schemas: Readonly<Record<string, Schema>> = {
  Status: object({ status: { const: 'ok' }, service: { const: 'api' }, version: text }),
  Whoami: object({
    tenant_id: whole,
    api_key_id: whole,
    role: { enum: roles },
    permissions: list({ enum: permissions }),
    scoped: flag,
  }),
  Capabilities: object({
    version: { const: 'v1' },
    features: sameType(decideFeatures(off), flag),
    limits: sameType(LIMITS, whole),
  }),
  SchemaEvents: object({
    events: list(
      object({ name: text, volume: whole, 'prop_keys?': list(text), 'last_seen?': date }),
    ),
  }),
  SchemaTraits: object({
    traits: list(text),
    schema: list(object({ name: text, kind: { enum: ['string', 'number'] }, users: whole })),
    builtin: list(object({ ...builtIn, description: text, 'use?': text })),
    engagement: object({ metrics: list(object(builtIn)), bands: list(text) }),
  }),
  IngestQuality: object({
    days: whole,
    from: date,
    to: date,
    totals: object({ rejected: whole, warned: whole }),
    rows: list(
      object({
        day: date,
        kind: { enum: ['reject', 'warn'] },
        code: text,
        'field?': text,
        sdk: text,
        app_id: whole,
        count: whole,
        label: text,
      }),
    ),
  }),
  AudienceValid: object({ valid: { const: true }, conditions: whole, depth: whole }),
  AudienceCount: object({
    count: whole,
    meta: object({ fresh_until: instant, elapsed_ms: whole }),
  }),
  SegmentDraft: object({ name: text, definition: ref('Audience') }),
  Segment: object({
    id: whole,
    name: text,
    definition: ref('Audience'),
    created_at: instant,
    updated_at: instant,
  }),
  SegmentList: object({ segments: list(ref('Segment')) }),
  EventImport: object({
    events: {
      type: 'array',
      minItems: 1,
      maxItems: 500,
      items: {
        type: 'object',
        description: 'An event as the ingest host takes it in a batch, with its type',
      },
    },
  }),
  EventImported: object({
    accepted: whole,
    'rejected?': whole,
    'errors?': list(object({ index: whole, reason: text })),
  }),
  ExportRequest: object({
    kind: { enum: EXPORT_KINDS },
    'format?': { enum: EXPORT_FORMATS, default: 'ndjson' },
    'spec?': object({ 'from?': text, 'to?': text, 'events?': list(text), 'segment_id?': whole }),
  }),
  ExportQueued: object({ ...exportItem, expires_after_hours: { const: 168 } }),
  ExportList: object({ data: list(object(exportItem)), has_more: { const: false } }),
  FunnelRequest: object({
    steps: { type: 'array', minItems: 2, maxItems: 12, items: step },
    from: text,
    to: text,
    'window_seconds?': { type: 'integer', minimum: 1, maximum: 31_536_000, default: 604_800 },
    'order?': { enum: ['ordered', 'strict', 'any'], default: 'ordered' },
    'exclude?': list(
      object({ event: text, 'filters?': list(filter), 'from_step?': whole, 'to_step?': whole }),
    ),
    'filters?': list(filter),
    'breakdown?': object({
      'property?': text,
      'field?': text,
      'trait?': text,
      'step?': whole,
      'limit?': whole,
    }),
    'include_bots?': flag,
    'timezone?': text,
  }),
  FunnelSteps: list(
    object({
      event: text,
      count: whole,
      conversion_from_previous: nullable('number'),
      conversion_from_first: nullable('number'),
      median_seconds_from_previous: nullable('number'),
      p90_seconds_from_previous: nullable('number'),
    }),
  ),
  FunnelAnswer: object({
    steps: ref('FunnelSteps'),
    'breakdown?': list(
      object({ value: nullable('string'), 'other?': flag, steps: ref('FunnelSteps') }),
    ),
    meta: ref('ReportMeta'),
  }),
  RetentionRequest: object({
    start: step,
    return: step,
    'mode?': { enum: ['first_time', 'recurring'], default: 'first_time' },
    'period?': { enum: ['day', 'week', 'month'], default: 'day' },
    'periods?': { type: 'integer', maximum: 60, default: 30 },
    'calendar?': { enum: ['gregorian', 'jalali'], default: 'gregorian' },
    'week_start?': { enum: ['saturday', 'sunday', 'monday'], default: 'saturday' },
    from: text,
    to: text,
    'filters?': list(filter),
    'breakdown?': object({ 'property?': text, 'field?': text, 'trait?': text, 'limit?': whole }),
    'include_bots?': flag,
    'timezone?': text,
  }),
  RetentionCohorts: list(
    object({ start: text, size: whole, returned: list(whole), 'incomplete_from?': whole }),
  ),
  RetentionAnswer: object({
    cohorts: ref('RetentionCohorts'),
    'breakdown?': list(
      object({ value: nullable('string'), 'other?': flag, cohorts: ref('RetentionCohorts') }),
    ),
    meta: ref('ReportMeta'),
  }),
  ReportMeta: object({
    fresh_until: instant,
    incomplete: flag,
    rows_read: whole,
    elapsed_ms: number,
  }),
  CodedError: object({
    error: object({
      code: { enum: Object.keys(catalogue) },
      message: text,
      'details?': { type: ['object', 'array'] },
      'need?': text,
    }),
  }),
  FlatError: object({ error: text, 'code?': text }),
};
