import Type, { type TSchema } from 'typebox';
import { catalogue, type ErrorCode, type ErrorForm } from '../../account-api/errors/catalogue.ts';
import { renderError } from '../../account-api/errors/render.ts';
import { TRACE_HEADER, type Schema } from '../../platform/http/openapi.ts';
import type { ManagementRoute } from '../route.ts';

/** Codes of credentials that nothing issues yet (auth/decide.ts). */
const NOT_ISSUED: readonly ErrorCode[] = [
  'wrong_surface',
  'impersonation_read_only',
  'impersonation_forbidden',
];

/** The codes that clients see in an envelope: those that may be branched on (management 7.1). */
function codesOf(form: ErrorForm): ErrorCode[] {
  const codes = Object.keys(catalogue) as ErrorCode[];
  return codes.filter((code) => catalogue[code].form === form && !NOT_ISSUED.includes(code));
}

/** New codes may appear (management 9.4): the known ones are examples. */
function codeOf(form: ErrorForm): TSchema {
  return Type.String({ examples: codesOf(form) });
}

const CodedError = Type.Object(
  {
    error: Type.Object({
      code: codeOf('coded'),
      message: Type.String(),
      details: Type.Optional(Type.Union([Type.Object({}), Type.Array(Type.Unknown())])),
      need: Type.Optional(Type.String()),
    }),
  },
  { $id: 'CodedError' },
);
const FlatError = Type.Object(
  { error: Type.String(), code: Type.Optional(codeOf('flat_with_code')) },
  { $id: 'FlatError' },
);

const AUDIENCE = 'Audience';

/** Errors of the guards, in their order. */
const GUARDS: readonly ErrorCode[] = [
  'unauthenticated',
  'api_key_required',
  'write_key_rejected',
  'key_expired',
  'key_lookup_unavailable',
  'ip_not_allowed',
  'budget_unavailable',
  'budget_exhausted',
];

/** The OpenAPI 3.1 document of a route table. */
export function buildOpenapi(routes: readonly ManagementRoute[], version: string): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ravand management host',
      version,
      description:
        'Reads and changes what is in an account, from server to server, with a management key. Any other path or method answers 404 unknown_endpoint.',
    },
    paths,
    components: {
      schemas: componentsOf(routes),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A management key, sk_svc_…' },
        header: { type: 'apiKey', in: 'header', name: 'X-Service-Key' },
      },
    },
  };
}

function operationOf(route: ManagementRoute): Schema {
  const { schemas: named } = route;
  const facts =
    route.auth === 'key'
      ? [
          `cost ${route.cost}`,
          ...(route.permission ? [`permission ${route.permission}`] : []),
          ...(route.lock ? ['behind the soft lock'] : []),
        ]
      : [];
  const parameters = [
    ...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'integer', minimum: 1 },
    })),
    ...Object.entries(route.query ?? {}).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      schema: { type: 'string' },
    })),
  ];
  return {
    summary: route.summary,
    ...(facts.length === 0 ? {} : { description: `${facts.join(', ')}.` }),
    ...(route.auth === 'key' ? { security: [{ bearer: [] }, { header: [] }] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(named.request === undefined
      ? {}
      : { requestBody: { required: true, content: json(named.request) } }),
    responses: {
      [named.status]: {
        description: 'Success',
        headers: TRACE_HEADER,
        ...(named.response === undefined ? {} : { content: json(named.response) }),
      },
      ...errorResponses(route),
    },
  };
}

/** One response for each status, over all codes that the route can answer with. */
function errorResponses(route: ManagementRoute): Record<string, Schema> {
  const own = [...route.coded, ...route.flat, ...(route.malformed ? [route.malformed.code] : [])];
  const guards =
    route.auth === 'key'
      ? [
          ...GUARDS,
          ...(route.permission ? ['forbidden' as const] : []),
          ...(route.lock ? ['account_locked' as const] : []),
        ]
      : [];
  const codes = [...new Set<ErrorCode>([...own, ...guards, 'internal'])];
  const byStatus = Map.groupBy(codes, (code) => catalogue[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => {
      const shapes = new Set(
        group.map((code) => (isCoded(code, route) ? 'CodedError' : 'FlatError')),
      );
      const [first, ...others] = [...shapes].map((name) => ({
        $ref: `#/components/schemas/${name}`,
      }));
      const schema = others.length === 0 ? first : { oneOf: [first, ...others] };
      return [
        status,
        {
          description: group.map((code) => nameOf(code, route)).join(', '),
          headers: TRACE_HEADER,
          content: { 'application/json': { schema } },
        },
      ];
    }),
  );
}

/** The code of an error, or its message where the answer shows no code. */
function nameOf(code: ErrorCode, route: ManagementRoute): string {
  const body = renderError({ code }, route.flat).body as { error: unknown };
  return isCoded(code, route) || 'code' in body ? code : `"${String(body.error)}"`;
}

function isCoded(code: ErrorCode, route: ManagementRoute): boolean {
  const { error } = renderError({ code }, route.flat).body as { error: unknown };
  return typeof error === 'object';
}

function json(schema: TSchema): Schema {
  return { 'application/json': { schema: referenced(schema) } };
}

/** Every schema with an $id in the routes, by $id. */
function componentsOf(routes: readonly ManagementRoute[]): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { $id, ...schema } = value as Schema;
    if (typeof $id === 'string') {
      if (found[$id]) return;
      found[$id] = {};
      const inside = Object.entries(schema).map(([key, part]) => [key, referenced(part)]);
      found[$id] = Object.fromEntries(inside) as Schema;
    }
    Object.values(schema).forEach(visit);
  };
  for (const { schemas } of routes) visit(schemas.request);
  const ofRequests = new Set(Object.keys(found));
  for (const { schemas } of routes) visit(schemas.response);
  visit([CodedError, FlatError]);
  return Object.fromEntries(
    Object.entries(found).map(([name, schema]) => [
      name,
      withTypedEnums(schema, { isClosed: ofRequests.has(name) }) as Schema,
    ]),
  );
}

/**
 * Lists of texts get the type that generators of clients look for. Those of answers are examples,
 * because new values may appear in them (management 9.4).
 */
function withTypedEnums(value: unknown, { isClosed }: { isClosed: boolean }): unknown {
  if (Array.isArray(value)) return value.map((one) => withTypedEnums(one, { isClosed }));
  if (typeof value !== 'object' || value === null) return value;
  const { enum: texts, ...schema } = value as Schema;
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string'))
    return { type: 'string', [isClosed ? 'enum' : 'examples']: texts, ...schema };
  const inside = Object.entries(value).map(([key, part]) => [
    key,
    withTypedEnums(part, { isClosed }),
  ]);
  return Object.fromEntries(inside);
}

/** A schema with references in the place of those with an $id. */
function referenced(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referenced);
  if (typeof value !== 'object' || value === null) return value;
  const { $id, $ref, ...schema } = value as Schema;
  if (typeof $id === 'string') return { $ref: `#/components/schemas/${$id}` };
  // the audience schema refers to itself by `#`
  if ($ref === '#') return { $ref: `#/components/schemas/${AUDIENCE}` };
  return Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, referenced(part)]));
}
