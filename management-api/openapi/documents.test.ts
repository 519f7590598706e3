import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { documents } from './documents.ts';

it('the documents in docs/ equal what `node management-api/openapi/write.ts` generates', async () => {
  for (const { path, text } of await documents())
    expect(readFileSync(join(import.meta.dirname, '../..', path), 'utf8'), path).toBe(text);
});

it('every reference of the OpenAPI document resolves to a component', async () => {
  const [openapi] = await documents();
  const document = JSON.parse(openapi?.text ?? '') as {
    components: { schemas: Record<string, unknown> };
  };
  const names = [...(openapi?.text ?? '').matchAll(/"#\/components\/schemas\/(\w+)"/g)];
  expect(names.length).toBeGreaterThan(20);
  for (const [, name] of names) expect(document.components.schemas[name ?? ''], name).toBeDefined();
});
