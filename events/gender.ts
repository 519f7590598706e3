import { normalisePersian } from './persian.ts';

const MALE: ReadonlySet<string> = new Set([
  'm',
  'male',
  'man',
  'men',
  'boy',
  'مرد',
  'آقا',
  'اقا',
  'آقای',
  'اقای',
  'مذکر',
  'پسر',
  'نر',
  'مردانه',
]);
const FEMALE: ReadonlySet<string> = new Set([
  'f',
  'female',
  'woman',
  'women',
  'girl',
  'زن',
  'خانم',
  'خانوم',
  'بانو',
  'مونث',
  'دختر',
  'ماده',
  'زنانه',
]);

/** Folds a gender to male, female or other (ingest 2.3), ignoring case and Persian variants. */
export function foldGender(sent: string): 'male' | 'female' | 'other' {
  const text = normalisePersian(sent, 64).toLowerCase();
  if (MALE.has(text)) return 'male';
  return FEMALE.has(text) ? 'female' : 'other';
}
