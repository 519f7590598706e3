import { createContext, type ComponentType } from 'react';
import type { ReportKind } from './saved-report.ts';

/** The result of a saved report, with its freshness. */
export interface ReportTileProps {
  definition: Record<string, unknown>;
}

/** How each kind of report is shown on a dashboard: features do not import each other. */
export const ReportTiles = createContext<Readonly<
  Record<ReportKind, ComponentType<ReportTileProps>>
> | null>(null);
