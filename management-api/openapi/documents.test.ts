import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { documentText } from '../../platform/http/openapi-documents.ts';
import { documents } from './documents.ts';

it('the documents in docs/ equal what `node management-api/openapi/write.ts` generates', async () => {
  for (const document of documents)
    expect(readFileSync(join(import.meta.dirname, '../..', document.path), 'utf8')).toBe(
      await documentText(document),
    );
});

it('every reference of the OpenAPI document resolves to a component', () => {
  const text = JSON.stringify(documents[0]?.content);
  const document = JSON.parse(text) as { components: { schemas: Record<string, unknown> } };
  const names = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)];
  expect(names.length).toBeGreaterThan(20);
  for (const [, name] of names) expect(document.components.schemas[name ?? ''], name).toBeDefined();
});
