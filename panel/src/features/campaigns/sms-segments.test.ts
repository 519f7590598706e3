import { expect, it } from 'vitest';
import { smsSegments } from './sms-segments.ts';

it.each([
  ['', 0],
  ['ب'.repeat(70), 1],
  ['ب'.repeat(71), 2],
  ['ب'.repeat(135), 3],
  ['a'.repeat(160), 1],
  ['a'.repeat(161), 2],
  ['€'.repeat(80), 1],
  ['€'.repeat(81), 2],
])('%j has so many parts: %i', (text, segments) => {
  expect(smsSegments(text).segments).toBe(segments);
});
