/**
 * Writes docs/openapi/management.json and docs/audience.schema.json from the code: `node
 * management-api/openapi/write.ts`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documents } from './documents.ts';

const checkout = join(import.meta.dirname, '../..');
mkdirSync(join(checkout, 'docs/openapi'), { recursive: true });
for (const { path, text } of await documents()) writeFileSync(join(checkout, path), text);
