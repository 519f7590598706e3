import { Trans, useLingui } from '@lingui/react/macro';
import { getRouteApi } from '@tanstack/react-router';
import { useToday } from '../../shared/format/use-now.ts';
import { useFormat } from '../../shared/format/use-format.ts';
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
import { pathsCsv, PathTree, type PathsAnswer } from './path-tree.tsx';
import {
  DEPTHS,
  DIRECTIONS,
  pathsRequest,
  WINDOWS,
  writePathsSearch,
  type PathsSearch,
} from './search.ts';

const route = getRouteApi('/member/reports/paths');

/** What people do after or before an event. */
export function PathsPage() {
  const { t } = useLingui();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const today = useToday();
  const change = (next: PathsSearch) =>
    void navigate({ search: writePathsSearch(next) as never, replace: true });
  const request = pathsRequest(search, today);
  const report = useReport<PathsAnswer>('/v1/reports/paths', request);
  const answer = report.data?.answer;
  return (
    <Page
      title={t`مسیرها`}
      lead={t`اشخاص پیش از یک رویداد یا پس از آن چه می‌کنند.`}
      actions={
        <ReportActions
          kind="paths"
          search={writePathsSearch(search)}
          csv={answer ? () => pathsCsv(answer) : undefined}
          picture="paths-picture"
        />
      }
    >
      <ReportLayout
        form={
          <Card title={<Trans>رویداد و بازه</Trans>} actions={<DefinitionHelp report="paths" />}>
            <Form search={search} onChange={change} />
          </Card>
        }
        result={
          <Card title={<Trans>نتیجه</Trans>}>
            <ReportResult
              report={report}
              missing={request ? undefined : <Trans>رویدادی انتخاب کنید.</Trans>}
            >
              {(shown) => (
                <div id="paths-picture">
                  <PathTree answer={shown} start={search.start.event} request={request ?? {}} />
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
  search: PathsSearch;
  onChange: (search: PathsSearch) => void;
}) {
  const { t } = useLingui();
  const { count, duration } = useFormat();
  const { start, range, direction, depth, window, filters } = search;
  const directions = { after: t`پس از این رویداد`, before: t`پیش از این رویداد` };
  return (
    <ReportForm>
      <EventField
        label={<Trans>رویداد</Trans>}
        value={start.event}
        onChange={(event) => onChange({ ...search, start: { ...start, event } })}
      />
      <SelectField
        label={<Trans>کدام سو</Trans>}
        value={direction}
        choices={DIRECTIONS.map((value) => ({ value, label: directions[value] }))}
        onChange={(next) => onChange({ ...search, direction: next })}
      />
      <RangeField value={range} onChange={(next) => onChange({ ...search, range: next })} />
      <SelectField
        label={<Trans>شمار گام‌ها</Trans>}
        value={String(depth)}
        choices={DEPTHS.map((value) => ({ value: String(value), label: count(value) }))}
        onChange={(next) => onChange({ ...search, depth: Number(next) })}
      />
      <SelectField
        label={<Trans>مهلت</Trans>}
        value={String(window)}
        choices={WINDOWS.map((value) => ({ value: String(value), label: duration(value) }))}
        onChange={(next) => onChange({ ...search, window: Number(next) })}
      />
      <FilterList filters={filters} onChange={(next) => onChange({ ...search, filters: next })} />
    </ReportForm>
  );
}
