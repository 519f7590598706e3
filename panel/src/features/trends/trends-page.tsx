import { Trans, useLingui } from '@lingui/react/macro';
import { getRouteApi } from '@tanstack/react-router';
import { useToday } from '../../shared/format/use-now.ts';
import { currentLanguage } from '../../shared/language/language.ts';
import { DefinitionHelp } from '../../shared/report/definition-help.tsx';
import { ReportActions } from '../../shared/report/report-actions.tsx';
import { ReportLayout } from '../../shared/report/report-layout.tsx';
import { ReportResult } from '../../shared/report/result.tsx';
import { useReport } from '../../shared/report/use-report.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { trendsCsv, type TrendsAnswer } from './answer.ts';
import { previousRequest, trendsRequest, writeTrendsSearch, type TrendsSearch } from './search.ts';
import { TrendsForm } from './trends-form.tsx';
import { TrendsResult } from './trends-result.tsx';

const route = getRouteApi('/member/reports/trends');

/** Counts, people, sums and averages over time. */
export function TrendsPage() {
  const { t } = useLingui();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const today = useToday();
  const change = (next: TrendsSearch) =>
    void navigate({ search: writeTrendsSearch(next) as never, replace: true });
  const calendar: 'jalali' | 'gregorian' = currentLanguage() === 'fa' ? 'jalali' : 'gregorian';
  const at = { today, calendar };
  const request = trendsRequest(search, at);
  const report = useReport<TrendsAnswer>('/v1/reports/trends', request);
  const previous = useReport<TrendsAnswer>('/v1/reports/trends', previousRequest(search, at));
  const answer = report.data?.answer;
  return (
    <Page
      title={t`روندها`}
      lead={t`شمار رویدادها و اشخاص، و جمع و میانگین یک ویژگی در گذر زمان.`}
      actions={
        <ReportActions
          kind="trends"
          search={writeTrendsSearch(search)}
          csv={answer ? () => trendsCsv(answer) : undefined}
          picture="trends-picture"
        />
      }
    >
      <ReportLayout
        form={
          <Card title={<Trans>سری‌ها و بازه</Trans>} actions={<DefinitionHelp report="trends" />}>
            <TrendsForm search={search} onChange={change} />
          </Card>
        }
        result={
          <Card title={<Trans>نتیجه</Trans>}>
            <ReportResult
              report={report}
              missing={
                request ? undefined : <Trans>یک رویداد انتخاب کنید تا روند آن رسم شود.</Trans>
              }
            >
              {(shown) => (
                <div id="trends-picture">
                  <TrendsResult
                    answer={shown}
                    previous={search.compare ? previous.data?.answer : undefined}
                    search={search}
                    request={request ?? {}}
                  />
                </div>
              )}
            </ReportResult>
          </Card>
        }
      />
    </Page>
  );
}
