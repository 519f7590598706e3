import { currentLanguage } from '../language/language.ts';
import { dateFormat, type DateFormat } from './dates.ts';
import { numberFormat, type NumberFormat } from './numbers.ts';

export type Format = NumberFormat & DateFormat;

let format: Format | undefined;

/** How this page writes numbers and dates. A page has one language as long as it is open. */
export function useFormat(): Format {
  const language = currentLanguage();
  format ??= { ...numberFormat(language), ...dateFormat(language) };
  return format;
}
