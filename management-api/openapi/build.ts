import { audienceSchema } from '../audiences/schema.ts';
import { catalogue, type ErrorCode } from '../errors/catalogue.ts';
import { renderError } from '../errors/render.ts';
import type { Route } from '../http/route.ts';
import { schemas, type Schema } from './schemas.ts';

/** Refusals of the guards, in their order. */
const GUARDS: readonly ErrorCode[] = [
  ...([
    'unauthenticated',
    'api_key_required',
    'write_key_rejected',
    'key_expired',
    'wrong_surface',
    'key_lookup_unavailable',
  ] as const),
  ...([
    'ip_not_allowed',
    'impersonation_read_only',
    'impersonation_forbidden',
    'budget_unavailable',
    'budget_exhausted',
  ] as const),
];

/** The OpenAPI 3.1 document of a route table. */
export function buildOpenapi(routes: readonly Route[], version: string): Schema {
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
      schemas: { ...schemas, Audience: audienceInside() },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A management key, sk_svc_…' },
        header: { type: 'apiKey', in: 'header', name: 'X-Service-Key' },
      },
    },
  };
}

function operationOf(route: Route): Schema {
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
        description: 'done',
        ...headers(),
        ...(named.response === undefined ? {} : { content: json(named.response) }),
      },
      ...errorResponses(route),
    },
  };
}

/** One response for each status, over all codes that the route can answer with. */
function errorResponses(route: Route): Record<string, Schema> {
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
          description: group.join(', '),
          ...headers(),
          content: { 'application/json': { schema } },
        },
      ];
    }),
  );
}

function isCoded(code: ErrorCode, route: Route): boolean {
  const { error } = renderError({ code }, route.flat).body as { error: unknown };
  return typeof error === 'object';
}

function json(name: string): Schema {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
}

function headers(): Schema {
  return {
    headers: { 'X-Service-Trace': { schema: { type: 'string', pattern: '^[0-9a-f]{8,64}$' } } },
  };
}

/** The published schema refers to itself by `#`; inside this document it lies deeper. */
function audienceInside(): Schema {
  const schema = { ...audienceSchema };
  delete schema['$schema'];
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"$ref":"#"', '"$ref":"#/components/schemas/Audience"'),
  ) as Schema;
}
