import type { ProfileColumn } from '../events/traits.ts';
import type { Operator, ValueKind } from './conditions/condition.ts';

const TEXT: readonly Operator[] = [
  'eq',
  'neq',
  'in',
  'not_in',
  'contains',
  'prefix',
  'is_set',
  'is_not_set',
];
const FLAG: readonly Operator[] = ['eq', 'neq', 'is_set', 'is_not_set'];
/** Management 2.4: numeric attributes and metrics have no in and not_in. */
export const NUMBER: readonly Operator[] = ['gt', 'gte', 'lt', 'lte', 'between'];
const DATE: readonly Operator[] = ['gt', 'gte', 'lt', 'lte', 'between', 'is_set', 'is_not_set'];

export type AttributeKind = Exclude<ValueKind, 'any'>;

/** A built-in of GET /v1/schema/traits (management 2.4); texts are Persian here. */
export interface BuiltIn {
  kind: AttributeKind;
  operators: readonly Operator[];
  label: string;
  /** Computed by the query, not stored. */
  computed: boolean;
  description: string;
  /** The attribute to use for comparisons that this one does not offer. */
  use?: string;
}

type OwnAttribute =
  | 'first_seen'
  | 'total_revenue'
  | 'order_count'
  | 'last_order_at'
  | 'has_push'
  | 'days_until_birthday'
  | 'days_since_last_seen';
export type AttributeName = ProfileColumn | OwnAttribute;

type Described = [label: string, description: string];

const stored =
  (kind: AttributeKind, operators: readonly Operator[]) =>
  (...[label, description]: Described): BuiltIn => ({
    kind,
    operators,
    label,
    computed: false,
    description,
  });
const text = stored('string', TEXT);
const flag = stored('boolean', FLAG);
const number = stored('number', NUMBER);
const date = stored('date', DATE);

export const ATTRIBUTES: Readonly<Record<AttributeName, BuiltIn>> = {
  email: text('ایمیل', 'نشانی ایمیل کاربر، با حروف کوچک.'),
  phone: text('تلفن همراه', 'شمارهٔ تلفن همراه کاربر به شکل بین‌المللی، مانند ‎+989121234567.'),
  first_name: text('نام', 'نام کوچک کاربر.'),
  last_name: text('نام خانوادگی', 'نام خانوادگی کاربر.'),
  gender: text('جنسیت', 'یکی از male، female و other.'),
  birthday: {
    kind: 'date',
    operators: ['is_set', 'is_not_set'],
    label: 'تاریخ تولد',
    computed: false,
    description: 'تاریخ تولد کاربر؛ اینجا تنها بودن یا نبودن آن سنجیده می‌شود.',
    use: 'days_until_birthday',
  },
  national_id: text('کد ملی', 'کد ملی کاربر.'),
  city: text('شهر', 'شهر کاربر.'),
  region: text('استان', 'استان یا ناحیهٔ کاربر.'),
  country: text('کشور', 'کشور کاربر.'),
  language: text('زبان', 'زبان کاربر.'),
  timezone: text('منطقهٔ زمانی', 'منطقهٔ زمانی کاربر.'),
  push_opt_in: flag('رضایت به پوش', 'آیا کاربر به دریافت پوش رضایت داده است.'),
  email_opt_in: flag('رضایت به ایمیل', 'آیا کاربر به دریافت ایمیل رضایت داده است.'),
  sms_opt_in: flag('رضایت به پیامک', 'آیا کاربر به دریافت پیامک رضایت داده است.'),
  first_seen: date('نخستین بازدید', 'زمان نخستین رویداد کاربر.'),
  total_revenue: number('مجموع خرید', 'مجموع مبلغ خریدهای کاربر، پس از کسر مرجوعی‌ها و لغوها.'),
  order_count: number('تعداد سفارش', 'تعداد سفارش‌های کاربر، پس از کسر مرجوعی‌ها و لغوها.'),
  last_order_at: date('آخرین سفارش', 'زمان آخرین سفارش کاربر.'),
  has_push: {
    kind: 'boolean',
    operators: ['eq', 'neq'],
    label: 'امکان ارسال پوش',
    computed: true,
    description: 'آیا دستگاهی از کاربر برای پوش ثبت شده و فعال است.',
  },
  days_until_birthday: {
    ...number(
      'روز تا تولد',
      'تعداد روزهای مانده تا تولد بعدی کاربر به وقت تهران؛ روز تولد صفر است.',
    ),
    computed: true,
  },
  days_since_last_seen: {
    ...number(
      'روز از آخرین بازدید',
      'تعداد روزهای گذشته از آخرین رویداد کاربر به وقت تهران؛ امروز صفر است.',
    ),
    computed: true,
  },
};

export function isAttribute(name: string): name is AttributeName {
  return Object.hasOwn(ATTRIBUTES, name);
}

export type MetricName =
  'events_7d' | 'events_30d' | 'sessions_30d' | 'active_days_30d' | 'orders_90d' | 'revenue_90d';

export interface Metric {
  kind: 'number';
  operators: readonly Operator[];
  label: string;
  computed: boolean;
}

const metric = (label: string): Metric => ({
  kind: 'number',
  operators: NUMBER,
  label,
  computed: true,
});

export const METRICS: Readonly<Record<MetricName, Metric>> = {
  events_7d: metric('رویدادهای ۷ روز اخیر'),
  events_30d: metric('رویدادهای ۳۰ روز اخیر'),
  sessions_30d: metric('نشست‌های ۳۰ روز اخیر'),
  active_days_30d: metric('روزهای فعال در ۳۰ روز اخیر'),
  orders_90d: metric('سفارش‌های ۹۰ روز اخیر'),
  revenue_90d: metric('خرید ۹۰ روز اخیر'),
};

export function isMetric(name: string): name is MetricName {
  return Object.hasOwn(METRICS, name);
}

/** Each person is in exactly one band; thresholds in attribute-sql.ts and docs/audiences.md. */
export const BANDS = ['new', 'active', 'slipping', 'dormant'] as const;
export type BandName = (typeof BANDS)[number];

export function isBand(name: string): name is BandName {
  return BANDS.some((band) => band === name);
}
