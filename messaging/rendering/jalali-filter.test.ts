import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compileTemplate } from './compile.ts';
import { jalaliFilter } from './jalali-filter.ts';
import { renderMessage } from './render-message.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/messages.md'), 'utf8');
const DUE = '2026-11-23T09:30:00+03:30';

function textOf(text: string, vars: Record<string, unknown>): string {
  const variables = { user: {}, vars, event: {} };
  const rendering = renderMessage(
    { parts: compileTemplate({ text: `${text}.` }, 'sms'), channel: 'sms' },
    variables,
    () => 0,
  );
  return 'error' in rendering ? rendering.error : rendering.content.text.slice(0, -1);
}

const jalali = (value: unknown, format?: string) => jalaliFilter(value, format, 0);

describe('the examples of docs/messages.md', () => {
  const examples = [
    ...PAGE.matchAll(/^ *\| `(\{\{ vars\.due \\\| jalali.*\}\})` *\| (.+?) *\|$/gm),
  ];

  it('are there', () => {
    expect(PAGE).toContain(`\`${DUE}\``);
    expect(examples.length).toBeGreaterThan(3);
  });

  it.each(examples.map(([, template = '', text = '']) => [template.replace('\\|', '|'), text]))(
    '%s is %s',
    (template, text) => expect(textOf(template, { due: DUE })).toBe(text),
  );
});

describe('the filter jalali', () => {
  it('names the months and the days of the week', () => {
    const year = Array.from({ length: 12 }, (_, month) =>
      // The middle of each Jalali month of 1405.
      jalali(new Date(Date.UTC(2026, 3 + month, 5, 12)).toISOString(), '%B'),
    );
    expect(year).toEqual([
      ...['فروردین', 'اردیبهشت', 'خرداد', 'تیر', 'مرداد', 'شهریور'],
      ...['مهر', 'آبان', 'آذر', 'دی', 'بهمن', 'اسفند'],
    ]);
    const week = [21, 22, 23, 24, 25, 26, 27].map((day) => jalali(`2026-11-${day}`, '%A'));
    expect(week).toEqual([
      ...['شنبه', 'یکشنبه', 'دوشنبه', 'سه‌شنبه', 'چهارشنبه', 'پنجشنبه', 'جمعه'],
    ]);
  });

  it.each([
    ['an instant is shown in the time of Tehran', '2026-11-22T20:30:00Z', '1405/09/02 00:00'],
    ['a date is that day', '2026-11-23', '1405/09/02 00:00'],
    ['a time without an offset is that of Tehran', '2026-11-23 18:05', '1405/09/02 18:05'],
    ['an offset may stand without a colon', '2026-11-23T18:05:09.123+0000', '1405/09/02 21:35'],
    ['summers had daylight time until 1401', '2022-07-01T00:00:00Z', '1401/04/10 04:30'],
    ['the last day of a leap year', '2025-03-20', '1403/12/30 00:00'],
    ['the first day of a year', '2026-03-21', '1405/01/01 00:00'],
    ['seconds since the epoch', 1_795_465_800, '1405/09/03 00:00'],
    ['milliseconds since the epoch', 1_795_465_800_000, '1405/09/03 00:00'],
    ['digits as text', '1795465800', '1405/09/03 00:00'],
    ['before 1970', '1969-12-31', '1348/10/10 00:00'],
  ])('reads times: %s', (_, value, expected) => {
    const persian = expected.replace(/\d/g, (digit) => '۰۱۲۳۴۵۶۷۸۹'.charAt(Number(digit)));
    expect(jalali(value, '%Y/%m/%d %H:%M')).toBe(persian);
  });

  it('reads the present time', () =>
    expect(jalaliFilter('now', '%Y/%m/%d %H:%M', Date.UTC(2026, 10, 23, 5, 30))).toBe(
      '۱۴۰۵/۰۹/۰۲ ۰۹:۰۰',
    ));

  it.each(['', 'tomorrow', '2026-02-30', '2026-13-01', '2026-11-23T25:00', '1e3', '9'.repeat(16)])(
    'leaves %j as it is',
    (value) => expect(jalali(value)).toBe(value),
  );

  it('leaves what is no directive, and renders nothing for what is missing', () => {
    expect(jalali('2026-11-23', '%Q 100%% %-m/%-d %y %e %j %')).toBe('%Q 100% ۹/۲ ۰۵ ۲ ۲۴۸ %');
    expect(textOf('{{ vars.none | jalali }}', {})).toBe('');
    expect(textOf('{{ vars.due | jalali: vars.none }}', { due: DUE })).toBe('۲ آذر ۱۴۰۵');
  });
});
