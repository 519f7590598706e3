import { expect, test } from 'vitest';
import { foldGender } from './gender.ts';

test.each([
  ...['m', 'M', 'male', ' MALE ', 'man', 'مرد', 'آقا', 'اقا', 'مذكر', 'پسر'].map((sent) => [
    sent,
    'male',
  ]),
  ...['f', 'Female', 'woman', 'زن', 'خانم', 'خانوم', 'مؤنث', 'مونث', 'دختر'].map((sent) => [
    sent,
    'female',
  ]),
  ...['', 'x', 'نامشخص', 'nonbinary', 'males'].map((sent) => [sent, 'other']),
])('the gender %j is folded to %s', (sent, folded) => {
  expect(foldGender(sent)).toBe(folded);
});
