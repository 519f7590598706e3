import { audienceRoutes } from '../account-api/audiences/routes.ts';
import { campaignRoutes } from '../account-api/campaigns/routes.ts';
import { reportRoutes } from '../account-api/reports/routes.ts';
import { exportRoutes } from '../account-api/exports/routes.ts';
import type { ManagementRoute } from './route.ts';
import { importRoutes } from './imports/routes.ts';
import type { Features } from '../account-api/features.ts';
import { introspectionRoutes } from './introspection/routes.ts';
import { messageRoutes } from '../account-api/messages/routes.ts';
import { schemaRoutes } from '../account-api/schema/routes.ts';
import { segmentRoutes } from '../account-api/segments/routes.ts';

/** The route table (management 4.1), in the specification's order. */
export const routes: readonly ManagementRoute[] = [
  ...introspectionRoutes,
  ...schemaRoutes,
  ...audienceRoutes,
  ...segmentRoutes,
  ...campaignRoutes,
  ...importRoutes,
  ...exportRoutes,
  ...reportRoutes,
  ...messageRoutes,
];

/** The rows that are served with these features on. */
export function servedRoutes(features: Features): ManagementRoute[] {
  return routes.filter((route) => route.features.every((feature) => features[feature]));
}
