import { localeOf, type Language } from '../language/language.ts';

/** How numbers of one language are written. */
export interface NumberFormat {
  /** «۱٬۲۳۴». */
  count: (value: number) => string;
  /** «۱۲٫۳ هزار», for charts. */
  short: (value: number) => string;
  /** A fraction of 1: «۴۲٫۵٪». */
  percent: (fraction: number) => string;
  /** With up to two decimals. */
  decimal: (value: number) => string;
  bytes: (value: number) => string;
  /** «۲ ساعت و ۵ دقیقه»: the two largest units. */
  duration: (seconds: number) => string;
  /** «۵ دقیقه پیش». */
  ago: (seconds: number) => string;
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;
const BYTES = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const AGO_UNITS = [['month', 2_592_000], ...UNITS] as const;

export function numberFormat(language: Language): NumberFormat {
  const locale = localeOf(language);
  const of = (options: Intl.NumberFormatOptions) => {
    const format = new Intl.NumberFormat(locale, options);
    return (value: number) => format.format(value);
  };
  const unitOf = new Map<string, (value: number) => string>();
  const unit = (name: string, value: number) => {
    const format =
      unitOf.get(name) ??
      of({ style: 'unit', unit: name, unitDisplay: 'long', maximumFractionDigits: 1 });
    unitOf.set(name, format);
    return format(value);
  };
  const list = new Intl.ListFormat(locale, { type: 'conjunction', style: 'long' });
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'always' });
  return {
    count: of({ maximumFractionDigits: 0 }),
    short: of({ notation: 'compact', maximumFractionDigits: 1 }),
    percent: of({ style: 'percent', maximumFractionDigits: 1 }),
    decimal: of({ maximumFractionDigits: 2 }),
    bytes(value) {
      const power = Math.min(BYTES.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
      return unit(BYTES[power] ?? 'byte', value / 1024 ** power);
    },
    duration(seconds) {
      if (seconds < 1) return unit('second', Math.round(seconds * 10) / 10);
      return list.format(durationParts(seconds).map(([name, value]) => unit(name, value)));
    },
    ago(seconds) {
      const [name, length] = AGO_UNITS.find(([, size]) => seconds >= size) ?? ['second', 1];
      return relative.format(-Math.floor(seconds / length), name);
    },
  };
}

/** The two largest units of a duration of at least a second, without zeros. */
export function durationParts(seconds: number): [unit: string, value: number][] {
  let rest = Math.round(seconds);
  const parts = UNITS.map(([name, length]): [string, number] => {
    const value = Math.floor(rest / length);
    rest -= value * length;
    return [name, value];
  });
  const first = parts.findIndex(([, value]) => value > 0);
  return parts.slice(first, first + 2).filter(([, value]) => value > 0);
}
