import { audienceRoutes } from '../../account-api/audiences/routes.ts';
import { campaignRoutes } from '../../account-api/campaigns/routes.ts';
import { exportRoutes } from '../../account-api/exports/routes.ts';
import type { Features } from '../../account-api/features.ts';
import type { KeyRoute } from '../../account-api/http/route.ts';
import { messageRoutes } from '../../account-api/messages/routes.ts';
import { panelReportRoutes } from '../../account-api/reports/panel-routes.ts';
import { reportRoutes } from '../../account-api/reports/routes.ts';
import { schemaRoutes } from '../../account-api/schema/routes.ts';
import { segmentRoutes } from '../../account-api/segments/routes.ts';

/**
 * Routes that the panel shares with the management host: the eleven of management 7.1, and what
 * changes the same resources.
 */
export function sharedRoutes(features: Features): KeyRoute[] {
  return [
    ...schemaRoutes,
    ...audienceRoutes,
    ...segmentRoutes,
    ...campaignRoutes,
    ...exportRoutes,
    ...reportRoutes,
    ...panelReportRoutes,
    ...messageRoutes,
  ].filter(
    (route): route is KeyRoute =>
      route.auth === 'key' && route.features.every((feature) => features[feature]),
  );
}
