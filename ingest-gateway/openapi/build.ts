import type { Answer } from '../http/render.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { TRACE_HEADER, type Schema } from '../../platform/http/openapi.ts';
import { schemas } from './schemas.ts';

/** A route as the host serves it; parameters of the path begin with a colon. */
export interface ServedRoute {
  method: string;
  path: string;
}

/** The OpenAPI 3.1 document of routes. Throws for a route without a row in OPERATIONS. */
export function buildOpenapi(routes: readonly ServedRoute[], version: string): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const { method, path } of routes) {
    const operation = OPERATIONS[`${method} ${path}`];
    if (!operation)
      throw new Error(
        `${method} ${path} is served and not documented: add a row to ingest-gateway/openapi/operations.ts`,
      );
    const template = path.replaceAll(/:(\w+)/g, '{$1}');
    paths[template] = { ...paths[template], [method.toLowerCase()]: describe(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ravand ingest host',
      version,
      description:
        'Accepts events with a public write key, also from browsers of any origin. OPTIONS under /v1/ answers 204; any other path or method there answers 405. Content-Type is ignored; gzip is decoded.',
    },
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A write key, wk_svc_…' },
        header: { type: 'apiKey', in: 'header', name: 'X-Service-Key' },
        query: {
          type: 'apiKey',
          in: 'query',
          name: 'write_key',
          description: 'For beacons, which cannot set headers',
        },
      },
    },
  };
}

function describe({
  summary,
  description,
  auth,
  request,
  accepts,
  done,
  refusals,
  shapes = {},
  plain = {},
  pages = {},
  path = {},
  query = {},
}: Operation): Schema {
  const parameters = [
    ...Object.entries(path).map(([name, schema]) => ({
      ...{ name, in: 'path', required: true, schema },
    })),
    ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema })),
  ];
  return {
    summary,
    ...(description === undefined ? {} : { description }),
    ...(auth === 'write_key' ? { security: [{ bearer: [] }, { header: [] }, { query: [] }] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(request === undefined ? {} : { requestBody: { required: true, content: json(request) } }),
    ...(accepts === undefined ? {} : { requestBody: { required: true, content: bodies(accepts) } }),
    responses: {
      [done.status]: {
        description: done.description,
        headers: {
          ...TRACE_HEADER,
          ...Object.fromEntries(
            Object.entries(done.headers ?? {}).map(([name, schema]) => [name, { schema }]),
          ),
        },
        ...(done.schema === undefined ? {} : { content: json(done.schema) }),
        ...(done.type === undefined ? {} : { content: { [done.type]: {} } }),
      },
      ...refused(refusals),
      ...shaped(shapes),
      ...described(plain, 'text/plain'),
      ...described(pages, 'text/html'),
    },
  };
}

function bodies(types: Readonly<Record<string, Schema>>): Schema {
  return Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, { schema }]));
}

function shaped(shapes: NonNullable<Operation['shapes']>): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(shapes).map(([status, { description, schemas: names }]) => {
      const [only, ...others] = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
      const schema = others.length === 0 ? only : { anyOf: [only, ...others] };
      return [
        status,
        { description, headers: TRACE_HEADER, content: { 'application/json': { schema } } },
      ];
    }),
  );
}

function described(texts: Readonly<Record<number, string>>, type: string): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(texts).map(([status, text]) => [
      status,
      { description: text, headers: TRACE_HEADER, content: { [type]: {} } },
    ]),
  );
}

/** One response for each status, with the sentences that clients read. */
function refused(refusals: readonly Answer[]): Record<string, Schema> {
  const byStatus = Map.groupBy(refusals, ({ status }) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, answers]) => {
      const sentences = answers.map(
        ({ body }) => (JSON.parse(body) as { message: string }).message,
      );
      const retry = answers.some(({ headers }) => headers?.includes('Retry-After'))
        ? { 'Retry-After': { schema: { type: 'string' } } }
        : {};
      return [
        status,
        {
          description: sentences.map(reason).join(' · '),
          headers: { ...TRACE_HEADER, ...retry },
          content: json('Failure'),
        },
      ];
    }),
  );
}

/** A rejection has the reason of the event (ingest 7.3) instead of one sentence. */
function reason(sentence: string): string {
  return sentence === 'rejected' ? 'the reason of a rejection' : sentence;
}

function json(name: string | number): Schema {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
}
