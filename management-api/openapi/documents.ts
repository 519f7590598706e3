import { format } from 'prettier';
import { audienceSchema } from '../audiences/schema.ts';
import { routes } from '../routes.ts';
import { buildOpenapi } from './build.ts';

/** The documents that are checked in, as they must stand there: paths relative to the checkout. */
export async function documents(): Promise<{ path: string; text: string }[]> {
  const json = (value: unknown) =>
    format(JSON.stringify(value), { parser: 'json', printWidth: 150 });
  return [
    { path: 'docs/openapi/management.json', text: await json(buildOpenapi(routes, 'v1')) },
    { path: 'docs/audience.schema.json', text: await json(audienceSchema) },
  ];
}
