import { Trans } from '@lingui/react/macro';
import { useToday } from '../../shared/format/use-now.ts';
import { currentLanguage } from '../../shared/language/language.ts';
import type { ReportTileProps } from '../../shared/report/report-tiles.ts';
import { ReportResult } from '../../shared/report/result.tsx';
import { useReport } from '../../shared/report/use-report.ts';
import { RetentionResult, type RetentionAnswer } from './retention-result.tsx';
import { readRetentionSearch, retentionRequest } from './search.ts';

/** A saved retention report on a dashboard. */
export function RetentionTile({ definition }: ReportTileProps) {
  const search = readRetentionSearch(definition);
  const calendar = currentLanguage() === 'fa' ? 'jalali' : 'gregorian';
  const request = retentionRequest(search, { today: useToday(), calendar });
  const report = useReport<RetentionAnswer>('/v1/reports/retention', request);
  return (
    <ReportResult
      report={report}
      missing={request ? undefined : <Trans>رویداد آغاز و رویداد بازگشت را انتخاب کنید.</Trans>}
    >
      {(shown) => <RetentionResult answer={shown} request={request ?? {}} period={search.period} />}
    </ReportResult>
  );
}
