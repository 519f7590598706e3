import type { ReportMeta } from '../../shared/report/meta.tsx';

export interface FunnelStep {
  event: string;
  count: number;
  conversion_from_previous: number | null;
  conversion_from_first: number | null;
  median_seconds_from_previous: number | null;
  p90_seconds_from_previous: number | null;
}

/** The answer of POST /v1/reports/funnel. */
export interface FunnelAnswer {
  steps: FunnelStep[];
  breakdown?: { value: string | null; other?: true; steps: FunnelStep[] }[];
  meta: ReportMeta;
}
