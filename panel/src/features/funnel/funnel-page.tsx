import { Trans, useLingui } from '@lingui/react/macro';
import { getRouteApi } from '@tanstack/react-router';
import { useToday } from '../../shared/format/use-now.ts';
import { DefinitionHelp } from '../../shared/report/definition-help.tsx';
import { ReportActions } from '../../shared/report/report-actions.tsx';
import { ReportLayout } from '../../shared/report/report-layout.tsx';
import { ReportResult } from '../../shared/report/result.tsx';
import { useReport } from '../../shared/report/use-report.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Page } from '../../shared/ui/page.tsx';
import type { FunnelAnswer } from './answer.ts';
import { FunnelForm } from './funnel-form.tsx';
import { FunnelResult } from './funnel-result.tsx';
import { funnelCsv } from './funnel-csv.ts';
import { funnelRequest, writeFunnelSearch, type FunnelSearch } from './search.ts';

const route = getRouteApi('/member/reports/funnel');

/** How many people get through a series of steps. */
export function FunnelPage() {
  const { t } = useLingui();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const today = useToday();
  const change = (next: FunnelSearch) =>
    void navigate({ search: writeFunnelSearch(next) as never, replace: true });
  const request = funnelRequest(search, today);
  const report = useReport<FunnelAnswer>('/v1/reports/funnel', request);
  const answer = report.data?.answer;
  return (
    <Page
      title={t`قیف`}
      lead={t`چند نفر از هر گام به گام بعد رسیده‌اند، و کجا رفته‌اند.`}
      actions={
        <ReportActions
          kind="funnel"
          search={writeFunnelSearch(search)}
          csv={answer ? () => funnelCsv(answer) : undefined}
          picture="funnel-picture"
        />
      }
    >
      <ReportLayout
        form={
          <Card title={<Trans>گام‌ها و بازه</Trans>} actions={<DefinitionHelp report="funnel" />}>
            <FunnelForm search={search} onChange={change} />
          </Card>
        }
        result={
          <Card title={<Trans>نتیجه</Trans>}>
            <ReportResult
              report={report}
              missing={
                request ? undefined : <Trans>دست‌کم دو گام انتخاب کنید تا قیف ساخته شود.</Trans>
              }
            >
              {(shown) => (
                <div id="funnel-picture">
                  <FunnelResult answer={shown} request={request ?? {}} />
                </div>
              )}
            </ReportResult>
          </Card>
        }
      />
    </Page>
  );
}
