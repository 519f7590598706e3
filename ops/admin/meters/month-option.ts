import { dayOfJalali } from '../../../events/jalali.ts';
import { quotaMonth, startOfTehranDay, type QuotaMonth } from '../../../events/tehran-time.ts';
import { CommandError } from '../../../cli/command.ts';

/** --month YYYY-MM, in the Jalali calendar; by default the month of `now`. Throws CommandError. */
export function monthOption(text: string | undefined, now: number): QuotaMonth {
  if (text === undefined) return quotaMonth(now);
  const [, year, month] = /^(1[34]\d\d)-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  if (year === undefined || month === undefined)
    throw new CommandError(
      `--month ${text}: expected a Jalali month such as ${quotaMonth(now).key}`,
    );
  return quotaMonth(
    startOfTehranDay(dayOfJalali({ year: Number(year), month: Number(month), day: 1 })),
  );
}
