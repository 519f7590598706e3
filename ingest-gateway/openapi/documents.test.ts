import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { WarningCode } from '../../events/warnings.ts';
import { documentText } from '../../platform/http/openapi-documents.ts';
import { allRoutes, documents } from './documents.ts';
import { OPERATIONS } from './operations.ts';
import { schemas } from './schemas.ts';

it('the document in docs/ matches the code; `node ingest-gateway/openapi/write.ts` writes it', async () => {
  for (const document of documents)
    expect(readFileSync(join(import.meta.dirname, '../..', document.path), 'utf8')).toBe(
      await documentText(document),
    );
});

it('every documented operation is a route', () => {
  expect(Object.keys(OPERATIONS).sort()).toEqual(
    allRoutes()
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
  );
});

it('every route of the specification (ingest 4.2, 4.8) and the SDK are documented', () => {
  const specified = [
    ...['GET /v1/status', 'POST /v1/track', 'POST /v1/identify', 'POST /v1/page'],
    ...['POST /v1/screen', 'POST /v1/alias', 'POST /v1/batch', 'POST /v1/devices'],
    ...['POST /v1/devices/unregister', 'POST /v1/webpush/subscribe'],
    ...['POST /v1/webpush/unsubscribe', 'POST /v1/messenger/link', 'POST /v1/messenger/unlink'],
    ...['POST /v1/inbox', 'GET /v1/onsite', 'POST /v1/onsite/event', 'POST /v1/onsite/response'],
    ...['POST /v1/hooks/:source/:token', 'POST /v1/bounce/:local', 'GET /s/:code'],
    ...['GET /e/o/:token', 'GET /e/u/:token', 'POST /e/u/:token'],
    ...['GET /e/p/:token', 'POST /e/p/:token', 'GET /sdk/:file'],
  ];
  expect(Object.keys(OPERATIONS).toSorted()).toEqual(specified.toSorted());
});

it('every schema that an operation names exists', () => {
  for (const { request, done, shapes = {} } of Object.values(OPERATIONS))
    for (const name of [
      ...[request, done.schema],
      ...Object.values(shapes).flatMap((shape) => shape.schemas),
    ])
      if (name !== undefined) expect(schemas[name], name).toBeDefined();
});

it('the document names every warning code', () => {
  // The compiler holds this list against the type.
  const codes: Record<WarningCode, true> = {
    ...{
      generated_message_id: true,
      timestamp_in_future: true,
      timestamp_too_old: true,
      too_many_properties: true,
      too_many_traits: true,
    },
    ...{ unserialisable_property: true, invalid_phone: true, invalid_national_id: true },
  };
  const { properties } = schemas['Warning'] as { properties: { code: { enum: string[] } } };
  expect(properties.code.enum.toSorted()).toEqual(Object.keys(codes).toSorted());
});
