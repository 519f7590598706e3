import { createContext, type ComponentType } from 'react';
import type { ReportKind } from './saved-report.ts';

/** The result of a saved report; of another `version` it is read anew. */
export interface ReportTileProps {
  definition: Record<string, unknown>;
}

/** How each kind of report is shown on a dashboard: features give it, and do not know each other. */
export const ReportTiles = createContext<Readonly<
  Record<ReportKind, ComponentType<ReportTileProps>>
> | null>(null);
