import { format } from 'prettier';
import { audienceSchema } from '../audiences/schema.ts';
import { routes } from '../routes.ts';
import { buildOpenapi, type Schema } from './build.ts';

const audience: Schema = { ...audienceSchema };
delete audience['$id'];
const publishedAudience = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...audience,
};

/**
 * The documents that are checked in, generated from the code; paths are relative to the checkout.
 */
export async function documents(): Promise<{ path: string; text: string }[]> {
  const json = (value: unknown) =>
    format(JSON.stringify(value), { parser: 'json', printWidth: 100 });
  return [
    { path: 'docs/openapi/management.json', text: await json(buildOpenapi(routes, 'v1')) },
    { path: 'docs/audience.schema.json', text: await json(publishedAudience) },
  ];
}
