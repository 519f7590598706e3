import { format } from 'prettier';
import { WEBHOOKS_PATH } from '../webhooks/webhook-server.ts';
import { ingestRoutes } from '../http/routes.ts';
import { LINKS_PATH } from '../links/link-server.ts';
import { buildOpenapi, type ServedRoute } from './build.ts';

/** Every route that the host can serve. */
export function allRoutes(): ServedRoute[] {
  const events = ingestRoutes({ version: '', now: () => new Date(0) });
  return [...events, { method: 'POST', path: WEBHOOKS_PATH }, { method: 'GET', path: LINKS_PATH }];
}

/** The document as it is checked in; its path is relative to the checkout. */
export async function openapiDocument(): Promise<{ path: string; text: string }> {
  const text = await format(JSON.stringify(buildOpenapi(allRoutes(), 'v1')), {
    parser: 'json',
    printWidth: 150,
  });
  return { path: 'docs/openapi/ingest.json', text };
}
