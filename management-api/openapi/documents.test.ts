import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { routes } from '../routes.ts';
import { documents } from './documents.ts';
import { schemas } from './schemas.ts';

it('the documents in docs/ are what the code says; `node management-api/openapi/write.ts` makes them anew', async () => {
  for (const { path, text } of await documents())
    expect(readFileSync(join(import.meta.dirname, '../..', path), 'utf8'), path).toBe(text);
});

it('every schema that a route names is there', () => {
  for (const { schemas: named, path } of routes)
    for (const name of [named.request, named.response])
      if (name !== undefined && name !== 'Audience')
        expect(schemas[name], `${path} ${name}`).toBeDefined();
});
