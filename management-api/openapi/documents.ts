import type { Document } from '../../platform/http/openapi-documents.ts';
import { audienceSchema } from '../../audiences/schema.ts';
import { routes } from '../routes.ts';
import { buildOpenapi } from './build.ts';

const audience: Record<string, unknown> = { ...audienceSchema };
delete audience['$id'];

/** The documents that are generated from the code and checked in. */
export const documents: readonly Document[] = [
  { path: 'docs/openapi/management.json', content: buildOpenapi(routes, 'v1') },
  {
    path: 'docs/audience.schema.json',
    content: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...audience },
  },
];
