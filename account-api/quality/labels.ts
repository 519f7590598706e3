import type { RejectionCode } from '../../events/rejections.ts';
import type { WarningCode } from '../../events/warnings.ts';

const rejects: Record<RejectionCode, string> = {
  unknown_type: 'نوع رویداد شناخته‌شده نیست؛ رویداد پذیرفته نشد.',
  missing_identity: 'رویداد نه user_id دارد و نه anonymous_id؛ پذیرفته نشد.',
  missing_event_name: 'رویداد نام ندارد؛ پذیرفته نشد.',
  event_name_too_long: 'نام رویداد از ۱۲۸ بایت بلندتر است؛ رویداد پذیرفته نشد.',
  event_name_invalid_chars: 'نام رویداد نویسهٔ کنترلی دارد؛ رویداد پذیرفته نشد.',
  id_too_long: 'یکی از شناسه‌ها از ۲۵۶ بایت بلندتر است؛ رویداد پذیرفته نشد.',
  missing_previous_id: 'رویداد alias بدون previous_id است؛ پذیرفته نشد.',
  batch_too_large: 'درخواست بیش از ۵۰۰ رویداد دارد؛ پذیرفته نشد.',
  batch_empty: 'درخواست هیچ رویدادی ندارد.',
  timestamp_too_old: 'زمان رویداد از بازهٔ پذیرش قدیمی‌تر است؛ رویداد پذیرفته نشد.',
};

const warns: Record<WarningCode, string> = {
  generated_message_id:
    'رویداد message_id نداشت و شناسه‌ای برای آن ساخته شد؛ تکرار آن شناسایی نمی‌شود.',
  timestamp_in_future: 'زمان رویداد جلوتر از ساعت سرور بود و زمان دریافت جای آن نشست.',
  timestamp_too_old: 'زمان رویداد از بازهٔ پذیرش قدیمی‌تر بود و به لبهٔ بازه آورده شد.',
  too_many_properties: 'رویداد بیش از ۲۵۶ ویژگی داشت و بقیهٔ آن‌ها کنار گذاشته شد.',
  too_many_traits: 'کاربر بیش از ۲۵۶ صفت داشت و بقیهٔ آن‌ها کنار گذاشته شد.',
  unserialisable_property: 'مقدار یک ویژگی ذخیره‌شدنی نبود و کنار گذاشته شد.',
  invalid_phone: 'شمارهٔ تلفن معتبر نبود و همان‌گونه که آمده بود ذخیره شد.',
  invalid_national_id: 'کد ملی معتبر نبود و کنار گذاشته شد.',
};

/**
 * The Persian sentence for a code of GET /v1/ingest/quality (management 2.5); an unknown code (from
 * a newer release) is returned as it is.
 */
export function qualityLabel(kind: string, code: string): string {
  const labels: Record<string, string> = kind === 'reject' ? rejects : warns;
  return Object.hasOwn(labels, code) ? (labels[code] ?? code) : code;
}
