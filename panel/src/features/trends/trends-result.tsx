import { Trans, useLingui } from '@lingui/react/macro';
import { tehranDay } from '../../../../events/tehran-time.ts';
import { TimeChart, type Series } from '../../shared/chart/time-chart.tsx';
import { useFormat, type Format } from '../../shared/format/use-format.ts';
import { PeopleLink } from '../../shared/report/people-link.tsx';
import { Figure, Figures } from '../../shared/ui/figure.tsx';
import { Empty } from '../../shared/ui/states.tsx';
import { applyFormula, chartSeries, type SeriesAnswer, type TrendsAnswer } from './answer.ts';
import type { TrendsSearch } from './search.ts';
import styles from './trends.module.css';

interface Props {
  answer: TrendsAnswer;
  previous: TrendsAnswer | undefined;
  search: TrendsSearch;
  request: object;
}

export function TrendsResult({ answer, previous, search, request }: Props) {
  const { t } = useLingui();
  const format = useFormat();
  const { formula, period } = search;
  const measures = { events: t`رویدادها`, people: t`اشخاص`, sum: t`جمع`, average: t`میانگین` };
  const nameOf = ({ event, measure }: SeriesAnswer) => `${event} · ${measures[measure]}`;
  const naming = {
    ...{ formula, nameOf },
    ...{ otherName: t`دیگر مقدارها`, noneName: t`بدون مقدار`, formulaName: t`فرمول` },
  };
  if (answer.series.every(({ values }) => values.every((value) => !value)))
    return (
      <Empty title={<Trans>در این بازه چیزی نبوده است</Trans>}>
        <Trans>بازهٔ بلندتری انتخاب کنید، یا شرط‌ها را بردارید.</Trans>
      </Empty>
    );
  const units = { hour: t`ساعت`, day: t`روز`, week: t`هفته`, month: t`ماه` };
  const shown = chartSeries(answer, naming);
  const before = previous
    ? chartSeries(previous, naming).map((one): Series => ({
        ...one,
        key: `before ${one.key}`,
        label: t`${one.label}، بازهٔ پیش`,
        values: answer.periods.map((_, at) => one.values[at] ?? null),
        isQuiet: true,
      }))
    : [];
  return (
    <div className={styles['result']}>
      <Totals {...{ answer, previous, request, nameOf, formula }} />
      <TimeChart
        label={t`روند`}
        unit={units[period]}
        labels={answer.periods.map((start) => periodLabel(Date.parse(start), period, format))}
        series={[...shown, ...before]}
        incompleteFrom={answer.incomplete_from}
        format={formula === 'divide' ? format.percent : format.decimal}
        height={300}
      />
    </div>
  );
}

function Totals({
  answer,
  previous,
  request,
  nameOf,
  formula,
}: Pick<Props, 'answer' | 'previous' | 'request'> & {
  nameOf: (series: SeriesAnswer) => string;
  formula: TrendsSearch['formula'];
}) {
  const { decimal, percent } = useFormat();
  const [left, right] = answer.series;
  return (
    <Figures>
      {answer.series.map((one, at) => {
        const former = previous?.series[at]?.total;
        const value = one.total === null ? '–' : decimal(one.total);
        const change = former && one.total !== null ? one.total / former - 1 : undefined;
        return (
          <Figure
            key={at}
            label={<bdi>{nameOf(one)}</bdi>}
            value={
              one.measure === 'people' ? (
                <PeopleLink definition={{ trends: request, series: at }} label={value} />
              ) : (
                value
              )
            }
            note={
              change === undefined ? undefined : change < 0 ? (
                <Trans>{percent(-change)} کمتر از بازهٔ پیش</Trans>
              ) : (
                <Trans>{percent(change)} بیشتر از بازهٔ پیش</Trans>
              )
            }
          />
        );
      })}
      {formula !== 'none' && left && right ? (
        <Figure
          label={<Trans>فرمول</Trans>}
          value={shownFormula(applyFormula(formula, left.total, right.total), {
            write: formula === 'divide' ? percent : decimal,
          })}
        />
      ) : null}
    </Figures>
  );
}

function shownFormula(
  value: number | null,
  { write }: { write: (value: number) => string },
): string {
  return value === null ? '–' : write(value);
}

function periodLabel(
  instant: number,
  period: TrendsSearch['period'],
  { shortDay, month, time }: Format,
): string {
  const day = tehranDay(instant);
  switch (period) {
    case 'hour':
      return `${shortDay(day)} ${time(instant)}`;
    case 'month':
      return month(day);
    default:
      return shortDay(day);
  }
}
