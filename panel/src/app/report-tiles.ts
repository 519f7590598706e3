import { lazy } from 'react';

/** Reports on a dashboard, by their kind. Their code is read when a dashboard has one. */
export const TILES = {
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
