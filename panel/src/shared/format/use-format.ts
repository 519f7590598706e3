import { currentLanguage, type Language } from '../language/language.ts';
import { dateFormat, type DateFormat } from './dates.ts';
import { numberFormat, type NumberFormat } from './numbers.ts';

export type Format = NumberFormat & DateFormat;

const formats = new Map<Language, Format>();

/** How this page writes numbers and dates: made once, and in the build for both languages. */
export function useFormat(): Format {
  const language = currentLanguage();
  const made = formats.get(language) ?? { ...numberFormat(language), ...dateFormat(language) };
  formats.set(language, made);
  return made;
}
