import { Trans } from '@lingui/react/macro';
import { useToday } from '../../shared/format/use-now.ts';
import { currentLanguage } from '../../shared/language/language.ts';
import type { ReportTileProps } from '../../shared/report/report-tiles.ts';
import { ReportResult } from '../../shared/report/result.tsx';
import { useReport } from '../../shared/report/use-report.ts';
import type { TrendsAnswer } from './answer.ts';
import { previousRequest, readTrendsSearch, trendsRequest } from './search.ts';
import { TrendsResult } from './trends-result.tsx';

/** Saved trends on a dashboard. */
export function TrendsTile({ definition }: ReportTileProps) {
  const search = readTrendsSearch(definition);
  const calendar: 'jalali' | 'gregorian' = currentLanguage() === 'fa' ? 'jalali' : 'gregorian';
  const at = { today: useToday(), calendar };
  const request = trendsRequest(search, at);
  const report = useReport<TrendsAnswer>('/v1/reports/trends', request);
  const previous = useReport<TrendsAnswer>('/v1/reports/trends', previousRequest(search, at));
  return (
    <ReportResult
      report={report}
      missing={request ? undefined : <Trans>یک رویداد انتخاب کنید تا روند آن رسم شود.</Trans>}
    >
      {(shown) => (
        <TrendsResult
          answer={shown}
          previous={search.compare ? previous.data?.answer : undefined}
          search={search}
          request={request ?? {}}
        />
      )}
    </ReportResult>
  );
}
