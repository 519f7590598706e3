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

it('every schema that an operation names exists', () => {
  for (const { request, done } of Object.values(OPERATIONS))
    for (const name of [request, done.schema])
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
