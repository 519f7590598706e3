import { expect, test } from 'vitest';
import { isNestedDeeper } from './read-body.ts';

const json = (text: string) => Buffer.from(text);

test.each([
  ['lists', '['.repeat(3) + ']'.repeat(3), 3],
  ['objects', '{"a":{"b":{}}}', 3],
  ['lists and objects one after the other', '[[],[],{},{"a":[]}]', 3],
  ['brackets inside texts', '["[[[[{{{{", "\\"[[[[", {"[[[[": 1}]', 2],
  ['a text that ends with a backslash', '["\\\\", [1]]', 2],
])('the nesting of %s is counted as JSON means it', (_, text, depth) => {
  expect(() => JSON.parse(text) as unknown).not.toThrow();
  expect(isNestedDeeper(json(text), depth)).toBe(false);
  expect(isNestedDeeper(json(text), depth - 1)).toBe(true);
});

test('a body of nested lists is recognised without being parsed', () => {
  expect(isNestedDeeper(json('['.repeat(4_000_000)), 1000)).toBe(true);
  expect(isNestedDeeper(json('['.repeat(1000)), 1000)).toBe(false);
});
