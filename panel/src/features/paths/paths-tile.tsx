import { Trans } from '@lingui/react/macro';
import { useToday } from '../../shared/format/use-now.ts';
import type { ReportTileProps } from '../../shared/report/report-tiles.ts';
import { ReportResult } from '../../shared/report/result.tsx';
import { useReport } from '../../shared/report/use-report.ts';
import { PathTree, type PathsAnswer } from './path-tree.tsx';
import { pathsRequest, readPathsSearch } from './search.ts';

/** Saved paths on a dashboard. */
export function PathsTile({ definition }: ReportTileProps) {
  const search = readPathsSearch(definition);
  const request = pathsRequest(search, useToday());
  const report = useReport<PathsAnswer>('/v1/reports/paths', request);
  return (
    <ReportResult
      report={report}
      missing={request ? undefined : <Trans>رویدادی انتخاب کنید.</Trans>}
    >
      {(shown) => <PathTree answer={shown} start={search.start.event} request={request ?? {}} />}
    </ReportResult>
  );
}
