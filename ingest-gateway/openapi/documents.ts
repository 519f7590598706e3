import type { Document } from '../../platform/http/openapi-documents.ts';
import { WEBHOOKS_PATH } from '../webhooks/webhook-server.ts';
import { registrationRoutes } from '../channels/registration-routes.ts';
import { BodyBudget } from '../http/body.ts';
import { INBOX_PATH } from '../inbox/inbox-route.ts';
import { ONSITE_PATHS } from '../onsite/onsite-routes.ts';
import { ingestRoutes } from '../http/routes.ts';
import { LINKS_PATH } from '../links/link-server.ts';
import { SDK_PATH } from '../sdk/sdk-route.ts';
import { trackedRoutes } from '../tracking/tracking-routes.ts';
import { buildOpenapi, type ServedRoute } from './build.ts';

/** Every route that the host can serve. */
export function allRoutes(): ServedRoute[] {
  const events = ingestRoutes({ version: '', now: () => new Date(0) });
  const registrations = registrationRoutes({ writer: { write: unserved }, hasPush: true });
  return [
    ...events,
    ...registrations,
    { method: 'POST', path: INBOX_PATH },
    { method: 'GET', path: ONSITE_PATHS.list },
    { method: 'POST', path: ONSITE_PATHS.event },
    { method: 'POST', path: ONSITE_PATHS.response },
    { method: 'POST', path: WEBHOOKS_PATH },
    { method: 'GET', path: LINKS_PATH },
    { method: 'GET', path: SDK_PATH },
    ...trackedRoutes(UNSERVED),
  ];
}

/** The routes are only listed. */
const UNSERVED: Parameters<typeof trackedRoutes>[0] = {
  tokens: { write: () => '' },
  budget: new BodyBudget(0),
  recipientOf: () => Promise.resolve(undefined),
  record: unserved,
  recordOpen: () => undefined,
  onUnreachable: () => undefined,
};

/** The routes are only listed. */
function unserved(): Promise<boolean> {
  return Promise.resolve(false);
}

/** The documents that are generated from the code and checked in. */
export const documents: readonly Document[] = [
  { path: 'docs/openapi/ingest.json', content: buildOpenapi(allRoutes(), 'v1') },
];
