import type { Document } from '../../platform/http/openapi-documents.ts';
import { WEBHOOKS_PATH } from '../webhooks/webhook-server.ts';
import { ingestRoutes } from '../http/routes.ts';
import { LINKS_PATH } from '../links/link-server.ts';
import { buildOpenapi, type ServedRoute } from './build.ts';

/** Every route that the host can serve. */
export function allRoutes(): ServedRoute[] {
  const events = ingestRoutes({ version: '', now: () => new Date(0) });
  return [...events, { method: 'POST', path: WEBHOOKS_PATH }, { method: 'GET', path: LINKS_PATH }];
}

/** The documents that are generated from the code and checked in. */
export const documents: readonly Document[] = [
  { path: 'docs/openapi/ingest.json', content: buildOpenapi(allRoutes(), 'v1') },
];
