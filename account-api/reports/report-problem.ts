import type { Violation } from '../http/check-body.ts';

/** Problems of a report request, all under the code invalid_report (management 4.2). */
const SENTENCES = {
  body: 'بدنهٔ درخواست باید یک شیء JSON باشد و هر فیلد آن نوع درست خود را داشته باشد.',
  steps: 'قیف باید دست‌کم ۲ و دست‌بالا ۱۲ گام داشته باشد.',
  one_step: 'قیف با تنها یک گام ساخته نمی‌شود؛ دست‌کم ۲ گام بفرستید.',
  too_many_steps: 'تعداد گام‌های قیف بیش از اندازه است؛ دست‌بالا ۱۲ گام بفرستید.',
  event_missing: 'نام رویداد خالی است.',
  range:
    'بازهٔ زمانی نادرست است: from و to را به شکل RFC 3339 یا YYYY-MM-DD بفرستید؛ from باید پیش از to باشد.',
  range_too_long: 'بازهٔ زمانی گزارش نباید از ۷۳۰ روز بیشتر باشد.',
  time_zone: 'منطقهٔ زمانی شناخته‌شده نیست؛ نامی از فهرست IANA بفرستید، مانند Asia/Tehran.',
  window: 'پنجرهٔ زمانی قیف باید عددی صحیح از ۱ تا ۳۱٬۵۳۶٬۰۰۰ ثانیه باشد.',
  option: 'مقدار یکی از گزینه‌های گزارش پذیرفتنی نیست.',
  filter: 'یکی از فیلترها نادرست است: نام، عملگر و مقدار آن باید با هم سازگار باشند.',
  too_many_filters: 'analytics: too many filters',
  event_too_long: 'analytics: event name too long',
  key_too_long: 'analytics: property key too long',
  value_too_long: 'analytics: property value too long',
} as const;

export type ReportProblemKind = keyof typeof SENTENCES;

/** Problems that concern the whole request: their sentences name no field. */
const WITHOUT_PATH: readonly ReportProblemKind[] = [
  'steps',
  'one_step',
  'too_many_steps',
  'window',
  'time_zone',
];

interface SchemaRow {
  /** Where: the path of the field without indexes. */
  at: RegExp;
  keyword?: Violation['keyword'];
  kind: ReportProblemKind | ((value: unknown) => ReportProblemKind);
}

/** The problem of a schema violation: the first row that matches. */
const BY_SCHEMA: readonly SchemaRow[] = [
  { at: /^steps$/, keyword: 'required', kind: 'steps' },
  {
    at: /^steps$/,
    keyword: 'minItems',
    kind: (steps) => (Array.isArray(steps) && steps.length === 1 ? 'one_step' : 'steps'),
  },
  { at: /^steps$/, keyword: 'maxItems', kind: 'too_many_steps' },
  { at: /^(start|return)$|\.event$/, keyword: 'required', kind: 'event_missing' },
  { at: /^timezone$/, kind: 'time_zone' },
  { at: /^(from|to)$/, kind: 'range' },
  { at: /^window_seconds$/, kind: 'window' },
  { at: /^(order|mode|period|periods|calendar|week_start)$/, kind: 'option' },
  { at: /^exclude$/, keyword: 'maxItems', kind: 'option' },
  { at: /\.(from_step|to_step)$|^breakdown\.(step|limit)$/, kind: 'option' },
  { at: /\bfilters\[\]\./, kind: 'filter' },
  { at: /^/, kind: 'body' },
];

export interface ReportProblem {
  kind: ReportProblemKind;
  /** The sentence for the client. Persian sentences name the field, as a path, in parentheses. */
  message: string;
}

export function reportProblem(kind: ReportProblemKind, path = ''): ReportProblem {
  const sentence = SENTENCES[kind];
  const isPersian = sentence.endsWith('.');
  return {
    kind,
    message: isPersian && path !== '' ? `${sentence.slice(0, -1)} (${path}).` : sentence,
  };
}

/** The message of the 503 of a report (management 4.2). */
export const REPORT_TOO_LARGE =
  'این گزارش بیش از حافظهٔ مجاز نیاز دارد؛ بازهٔ زمانی را کوتاه‌تر یا تعداد گام‌ها را کمتر کنید.';
export const REPORT_UNAVAILABLE = 'گزارش اکنون در دسترس نیست؛ اندکی بعد دوباره تلاش کنید.';

/** Thrown inside the parser; parsed() converts it to a value. */
class InvalidReport extends Error {
  readonly problem: ReportProblem;

  constructor(problem: ReportProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** Stops reading a request. Only inside parsed(). */
export function reject(kind: ReportProblemKind, path?: string): never {
  throw new InvalidReport(reportProblem(kind, path));
}

/** Rejects with the problem of a report inside another request. Only inside parsed(). */
export function rejectWith(problem: ReportProblem): never {
  throw new InvalidReport(problem);
}

/** Rejects with the problem of a schema violation. Only inside parsed(). */
export function rejectViolation({ path, pattern, keyword, value }: Violation): never {
  const row = BY_SCHEMA.find((one) => one.at.test(pattern) && (one.keyword ?? keyword) === keyword);
  const kind = typeof row?.kind === 'function' ? row.kind(value) : (row?.kind ?? 'body');
  return reject(kind, WITHOUT_PATH.includes(kind) ? undefined : path);
}

export type Parsed<T> = { ok: true; request: T } | { ok: false; problem: ReportProblem };

export function parsed<T>(read: () => T): Parsed<T> {
  try {
    return { ok: true, request: read() };
  } catch (error) {
    if (error instanceof InvalidReport) return { ok: false, problem: error.problem };
    throw error;
  }
}
