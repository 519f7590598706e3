import { Trans, useLingui } from '@lingui/react/macro';
import { parseDate, type CalendarDate, type DateValue } from '@internationalized/date';
import {
  Button,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  Heading,
  I18nProvider,
  RangeCalendar,
} from 'react-aria-components';
import { dayText } from '../../../../events/tehran-time.ts';
import { currentLanguage } from '../language/language.ts';
import type { DayRange } from './range.ts';
import styles from './day-range-calendar.module.css';

const DAY = 86_400_000;
/** Maximum of a report, days. */
const LONGEST = 730;

/** A calendar of the language, Jalali in Persian, to choose the first and the last day in. */
export function DayRangeCalendar({
  value,
  today,
  onChoose,
}: {
  value: DayRange;
  today: number;
  onChoose: (days: DayRange) => void;
}) {
  const { t } = useLingui();
  const locale = currentLanguage() === 'fa' ? 'fa-IR-u-ca-persian-nu-arabext' : 'en-GB';
  return (
    <I18nProvider locale={locale}>
      <p>
        <Trans>روز نخست و سپس روز آخر را انتخاب کنید؛ هر دو در گزارش هستند.</Trans>
      </p>
      <RangeCalendar
        aria-label={t`روزهای گزارش`}
        className={styles['calendar'] ?? ''}
        defaultValue={{ start: dateOf(value.from), end: dateOf(value.to - 1) }}
        minValue={dateOf(today - LONGEST)}
        maxValue={dateOf(today)}
        onChange={({ start, end }) => onChoose({ from: dayIn(start), to: dayIn(end) + 1 })}
      >
        <header className={styles['head']}>
          <Button slot="previous" aria-label={t`ماه پیش`} className={styles['step'] ?? ''}>
            ‹
          </Button>
          <Heading className={styles['title'] ?? ''} />
          <Button slot="next" aria-label={t`ماه بعد`} className={styles['step'] ?? ''}>
            ›
          </Button>
        </header>
        <CalendarGrid className={styles['grid'] ?? ''}>
          <CalendarGridHeader>
            {(name) => (
              <CalendarHeaderCell className={styles['weekday'] ?? ''}>{name}</CalendarHeaderCell>
            )}
          </CalendarGridHeader>
          <CalendarGridBody>
            {(date) => <CalendarCell date={date} className={styles['day'] ?? ''} />}
          </CalendarGridBody>
        </CalendarGrid>
      </RangeCalendar>
    </I18nProvider>
  );
}

function dateOf(day: number): CalendarDate {
  return parseDate(dayText(day));
}

/** Days since 1970-01-01; the calendar of the date may be any. */
function dayIn(date: DateValue): number {
  return Math.round(date.toDate('UTC').getTime() / DAY);
}
