import { Trans, useLingui } from '@lingui/react/macro';
import { lazy, Suspense, useState } from 'react';
import { useToday } from '../format/use-now.ts';
import { useFormat } from '../format/use-format.ts';
import { SelectField } from '../ui/field.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Loading } from '../ui/states.tsx';
import { daysOf, PRESETS, readRange, textOf, type RangeText } from './range.ts';

const DayRangeCalendar = lazy(async () => ({
  default: (await import('./day-range-calendar.tsx')).DayRangeCalendar,
}));

/** The days of a report: a range that moves with today, or fixed days of a calendar. */
export function RangeField({
  value,
  onChange,
}: {
  value: RangeText;
  onChange: (range: RangeText) => void;
}) {
  const { t } = useLingui();
  const { day } = useFormat();
  const [isOpen, setOpen] = useState(false);
  const today = useToday();
  const { from, to } = daysOf(value, today);
  const labels = {
    '7d': t`۷ روز گذشته`,
    '30d': t`۳۰ روز گذشته`,
    '90d': t`۹۰ روز گذشته`,
    'this-month': t`این ماه`,
    'last-month': t`ماه گذشته`,
  };
  const isPreset = PRESETS.some((preset) => preset === value);
  return (
    <>
      <SelectField
        label={<Trans>بازه</Trans>}
        hint={isPreset ? `${day(from)} – ${day(to - 1)}` : undefined}
        value={isPreset ? value : 'fixed'}
        choices={[
          ...PRESETS.map((preset) => ({ value: preset, label: labels[preset] })),
          ...(isPreset ? [] : [{ value: 'fixed', label: `${day(from)} – ${day(to - 1)}` }]),
          { value: 'choose', label: t`روزهای دلخواه…` },
        ]}
        onChange={(next) => {
          if (next === 'choose') setOpen(true);
          else if (next !== 'fixed') onChange(readRange(next));
        }}
      />
      {isOpen ? (
        <Dialog title={<Trans>روزهای گزارش</Trans>} onClose={() => setOpen(false)}>
          <Suspense fallback={<Loading lines={7} />}>
            <DayRangeCalendar
              value={{ from, to }}
              today={today}
              onChoose={(days) => {
                onChange(textOf(days));
                setOpen(false);
              }}
            />
          </Suspense>
        </Dialog>
      ) : null}
    </>
  );
}
