import { Trans, useLingui } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import { EventField } from '../../shared/report/event-field.tsx';
import { FilterList } from '../../shared/report/filter-list.tsx';
import { PropertyField } from '../../shared/report/property-field.tsx';
import { RangeField } from '../../shared/report/range-field.tsx';
import { ReportForm } from '../../shared/report/report-form.tsx';
import { TargetField } from '../../shared/report/target-field.tsx';
import { Button } from '../../shared/ui/button.tsx';
import { CheckField, SelectField } from '../../shared/ui/field.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import {
  FORMULAS,
  MAX_SERIES,
  MEASURES,
  needsProperty,
  PERIODS,
  type SeriesText,
  type TrendsSearch,
} from './search.ts';
import styles from './trends.module.css';

interface Props {
  search: TrendsSearch;
  onChange: (search: TrendsSearch) => void;
}

export function TrendsForm({ search, onChange }: Props) {
  const { t } = useLingui();
  const { series, range, period, filters, breakdown, formula, compare } = search;
  const periods = { hour: t`ساعت`, day: t`روز`, week: t`هفته`, month: t`ماه` };
  const formulas = {
    none: t`هیچ‌کدام`,
    divide: t`سری ۱ تقسیم بر سری ۲`,
    subtract: t`سری ۱ منهای سری ۲`,
    add: t`سری ۱ به‌اضافهٔ سری ۲`,
  };
  return (
    <ReportForm>
      <SeriesList series={series} onChange={(next) => onChange({ ...search, series: next })} />
      <div className={styles['pair']}>
        <RangeField value={range} onChange={(next) => onChange({ ...search, range: next })} />
        <SelectField
          label={<Trans>دوره</Trans>}
          value={period}
          choices={PERIODS.map((value) => ({ value, label: periods[value] }))}
          onChange={(next) => onChange({ ...search, period: next })}
        />
      </div>
      {series.length > 1 ? (
        <SelectField
          label={<Trans>فرمول</Trans>}
          value={formula}
          choices={FORMULAS.map((value) => ({ value, label: formulas[value] }))}
          onChange={(next) => onChange({ ...search, formula: next })}
        />
      ) : null}
      <TargetField
        label={<Trans>تفکیک بر اساس</Trans>}
        value={breakdown ?? { kind: 'property', name: '' }}
        event={series[0]?.event}
        isOptional
        onChange={(next) => onChange({ ...search, breakdown: next })}
      />
      <CheckField
        label={<Trans>مقایسه با بازهٔ پیش</Trans>}
        isChecked={compare}
        onChange={(next) => onChange({ ...search, compare: next })}
      />
      <FilterList filters={filters} onChange={(next) => onChange({ ...search, filters: next })} />
    </ReportForm>
  );
}

function SeriesList({
  series,
  onChange,
}: {
  series: readonly SeriesText[];
  onChange: (series: SeriesText[]) => void;
}) {
  const { t } = useLingui();
  const { count } = useFormat();
  const measures = {
    events: t`شمار رویدادها`,
    people: t`شمار اشخاص`,
    sum: t`جمع یک ویژگی`,
    average: t`میانگین یک ویژگی`,
  };
  const replace = (at: number, one: SeriesText) =>
    onChange(series.map((other, index) => (index === at ? one : other)));
  return (
    <>
      {series.map((one, at) => (
        <div
          key={at}
          className={styles['series']}
          role="group"
          aria-label={t`سری ${count(at + 1)}`}
        >
          <div className={styles['head']}>
            <EventField
              label={t`رویداد سری ${count(at + 1)}`}
              value={one.event}
              onChange={(event) => replace(at, { ...one, event })}
            />
            <Button
              kind="icon"
              aria-label={t`حذف سری ${count(at + 1)}`}
              disabled={series.length === 1}
              onClick={() => onChange(series.filter((_, index) => index !== at))}
            >
              <Icon name="close" />
            </Button>
          </div>
          <div className={styles['pair']}>
            <SelectField
              label={<Trans>چه چیزی</Trans>}
              value={one.measure}
              choices={MEASURES.map((value) => ({ value, label: measures[value] }))}
              onChange={(measure) => replace(at, { ...one, measure })}
            />
            {needsProperty(one.measure) ? (
              <PropertyField
                label={t`ویژگی عددی`}
                event={one.event}
                value={one.property ?? ''}
                onChange={(property) => replace(at, { ...one, property })}
              />
            ) : null}
          </div>
        </div>
      ))}
      {series.length < MAX_SERIES ? (
        <div>
          <Button onClick={() => onChange([...series, { event: '', measure: 'events' }])}>
            <Icon name="plus" />
            <Trans>افزودن سری</Trans>
          </Button>
        </div>
      ) : null}
    </>
  );
}
