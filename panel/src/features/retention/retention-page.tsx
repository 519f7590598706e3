import { Trans, useLingui } from '@lingui/react/macro';
import { getRouteApi } from '@tanstack/react-router';
import { useToday } from '../../shared/format/use-now.ts';
import { currentLanguage } from '../../shared/language/language.ts';
import { DefinitionHelp } from '../../shared/report/definition-help.tsx';
import { EventField } from '../../shared/report/event-field.tsx';
import { FilterList } from '../../shared/report/filter-list.tsx';
import { RangeField } from '../../shared/report/range-field.tsx';
import { ReportActions } from '../../shared/report/report-actions.tsx';
import { ReportForm } from '../../shared/report/report-form.tsx';
import { ReportLayout } from '../../shared/report/report-layout.tsx';
import { ReportResult } from '../../shared/report/result.tsx';
import { useReport } from '../../shared/report/use-report.ts';
import { Card } from '../../shared/ui/card.tsx';
import { SelectField } from '../../shared/ui/field.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { RetentionResult, retentionCsv, type RetentionAnswer } from './retention-result.tsx';
import {
  MODES,
  PERIODS,
  retentionRequest,
  writeRetentionSearch,
  type RetentionSearch,
} from './search.ts';

const route = getRouteApi('/member/reports/retention');

/** How many people come back, period by period. */
export function RetentionPage() {
  const { t } = useLingui();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const today = useToday();
  const change = (next: RetentionSearch) =>
    void navigate({ search: writeRetentionSearch(next) as never, replace: true });
  const calendar = currentLanguage() === 'fa' ? 'jalali' : 'gregorian';
  const request = retentionRequest(search, { today, calendar });
  const report = useReport<RetentionAnswer>('/v1/reports/retention', request);
  const answer = report.data?.answer;
  return (
    <Page
      title={t`بازگشت`}
      lead={t`از کسانی که با هم آغاز کرده‌اند، چند نفر بازگشته‌اند.`}
      actions={
        <ReportActions
          kind="retention"
          search={writeRetentionSearch(search)}
          csv={answer ? () => retentionCsv(answer) : undefined}
          picture="retention-picture"
        />
      }
    >
      <ReportLayout
        form={
          <Card
            title={<Trans>آغاز و بازگشت</Trans>}
            actions={<DefinitionHelp report="retention" />}
          >
            <Form search={search} onChange={change} />
          </Card>
        }
        result={
          <Card title={<Trans>نتیجه</Trans>}>
            <ReportResult
              report={report}
              missing={
                request ? undefined : <Trans>رویداد آغاز و رویداد بازگشت را انتخاب کنید.</Trans>
              }
            >
              {(shown) => (
                <div id="retention-picture">
                  <RetentionResult answer={shown} request={request ?? {}} period={search.period} />
                </div>
              )}
            </ReportResult>
          </Card>
        }
      />
    </Page>
  );
}

function Form({
  search,
  onChange,
}: {
  search: RetentionSearch;
  onChange: (search: RetentionSearch) => void;
}) {
  const { t } = useLingui();
  const { start, back, range, period, mode, filters } = search;
  const periods = { day: t`روز`, week: t`هفته`, month: t`ماه` };
  const modes = {
    first_time: t`تنها نخستین بارِ هر شخص`,
    recurring: t`هر دوره‌ای که آغاز کرده است`,
  };
  return (
    <ReportForm>
      <EventField
        label={<Trans>رویداد آغاز</Trans>}
        value={start.event}
        onChange={(event) => onChange({ ...search, start: { ...start, event } })}
      />
      <EventField
        label={<Trans>رویداد بازگشت</Trans>}
        value={back.event}
        onChange={(event) => onChange({ ...search, back: { ...back, event } })}
      />
      <RangeField value={range} onChange={(next) => onChange({ ...search, range: next })} />
      <SelectField
        label={<Trans>دوره</Trans>}
        value={period}
        choices={PERIODS.map((value) => ({ value, label: periods[value] }))}
        onChange={(next) => onChange({ ...search, period: next })}
      />
      <SelectField
        label={<Trans>چه کسی در گروه است</Trans>}
        value={mode}
        choices={MODES.map((value) => ({ value, label: modes[value] }))}
        onChange={(next) => onChange({ ...search, mode: next })}
      />
      <FilterList filters={filters} onChange={(next) => onChange({ ...search, filters: next })} />
    </ReportForm>
  );
}
