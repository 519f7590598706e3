import { Trans } from '@lingui/react/macro';
import { useToday } from '../../shared/format/use-now.ts';
import type { ReportTileProps } from '../../shared/report/report-tiles.ts';
import { ReportResult } from '../../shared/report/result.tsx';
import { useReport } from '../../shared/report/use-report.ts';
import type { FunnelAnswer } from './answer.ts';
import { FunnelResult } from './funnel-result.tsx';
import { funnelRequest, readFunnelSearch } from './search.ts';

/** A saved funnel on a dashboard. */
export function FunnelTile({ definition }: ReportTileProps) {
  const request = funnelRequest(readFunnelSearch(definition), useToday());
  const report = useReport<FunnelAnswer>('/v1/reports/funnel', request);
  return (
    <ReportResult
      report={report}
      missing={request ? undefined : <Trans>دست‌کم دو گام انتخاب کنید تا قیف ساخته شود.</Trans>}
    >
      {(shown) => <FunnelResult answer={shown} request={request ?? {}} />}
    </ReportResult>
  );
}
