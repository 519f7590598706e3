import { lazy } from 'react';
import { DashboardPage } from '../features/dashboards/dashboard-page.tsx';
import { ReportTiles } from '../shared/report/report-tiles.ts';

/** The code of a report is read when a dashboard has one of its kind. */
const TILES = {
  funnel: lazy(async () => ({
    default: (await import('../features/funnel/funnel-tile.tsx')).FunnelTile,
  })),
  retention: lazy(async () => ({
    default: (await import('../features/retention/retention-tile.tsx')).RetentionTile,
  })),
  trends: lazy(async () => ({
    default: (await import('../features/trends/trends-tile.tsx')).TrendsTile,
  })),
  paths: lazy(async () => ({
    default: (await import('../features/paths/paths-tile.tsx')).PathsTile,
  })),
};

/** A dashboard with the reports of all features. */
export function DashboardRoute() {
  return (
    <ReportTiles value={TILES}>
      <DashboardPage />
    </ReportTiles>
  );
}
