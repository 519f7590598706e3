import { audienceRoutes } from './audiences/routes.ts';
import { campaignRoutes } from './campaigns/routes.ts';
import { reportRoutes } from './reports/routes.ts';
import { exportRoutes } from './exports/routes.ts';
import type { Route } from './http/route.ts';
import { importRoutes } from './imports/routes.ts';
import type { Features } from './introspection/features.ts';
import { introspectionRoutes } from './introspection/routes.ts';
import { messageRoutes } from './messages/routes.ts';
import { schemaRoutes } from './schema/routes.ts';
import { segmentRoutes } from './segments/routes.ts';

/** The route table (management 4.1), in the specification's order. */
export const routes: readonly Route[] = [
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
export function servedRoutes(features: Features): Route[] {
  return routes.filter((route) => route.features.every((feature) => features[feature]));
}
