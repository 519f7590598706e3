import { expect, it } from 'vitest';
import { deliveryCode } from './delivery-error.ts';

it.each([
  ['broker', 'message size too large', 10],
  ['broker', 'topic authorization failed', 29],
  ['local', 'message timed out', -192],
  ['local', 'a text of another version', -1],
])('a delivery report of the %s, %j, has the code of its text', (origin, message, code) => {
  expect(deliveryCode({ code: -1, origin, message })).toBe(code);
  expect(deliveryCode({ code: 7, origin, message })).toBe(7);
});
