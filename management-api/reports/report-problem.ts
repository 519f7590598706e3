/**
 * The thirteen things that can be wrong with a report request; all of them go out under the code
 * invalid_report (management 4.2).
 */
export type ReportProblemKind =
  | (
      | 'body'
      | 'steps'
      | 'event_missing'
      | 'range'
      | 'range_too_long'
      | 'time_zone'
      | 'window'
      | 'option'
      | 'filter'
    )
  | ('too_many_filters' | 'event_too_long' | 'key_too_long' | 'value_too_long');

const SENTENCES: Record<ReportProblemKind, string> = {
  body: 'بدنهٔ درخواست باید یک شیء JSON باشد و هر فیلد آن نوع درست خود را داشته باشد.',
  steps: 'قیف باید دست‌کم ۲ و دست‌بالا ۱۲ گام داشته باشد.',
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
};

export interface ReportProblem {
  kind: ReportProblemKind;
  /**
   * The sentence for the client. Persian ones name the field in question, as a path into the
   * request, in parentheses.
   */
  message: string;
}

export function reportProblem(kind: ReportProblemKind, path?: string): ReportProblem {
  const sentence = SENTENCES[kind];
  const isPersian = sentence.endsWith('.');
  return {
    kind,
    message: isPersian && path !== undefined ? `${sentence.slice(0, -1)} (${path}).` : sentence,
  };
}

/** The sentence beside 503 when a report cannot be computed now (management 4.2). */
export const REPORT_UNAVAILABLE = 'گزارش اکنون در دسترس نیست؛ اندکی بعد دوباره تلاش کنید.';

/** Carries a problem out of the parser; parsed() turns it into a value. */
class InvalidReport extends Error {
  readonly problem: ReportProblem;

  constructor(problem: ReportProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** Gives up reading a request. Only inside parsed(). */
export function reject(kind: ReportProblemKind, path?: string): never {
  throw new InvalidReport(reportProblem(kind, path));
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
