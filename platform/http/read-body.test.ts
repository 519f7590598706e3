import { expect, test } from 'vitest';
import { exceedsStructure } from './read-body.ts';

const json = (text: string) => Buffer.from(text);
const nested = (depth: number) => ({ depth, nodes: 1000, elements: 1000 });

test.each([
  ['lists', '['.repeat(3) + ']'.repeat(3), 3],
  ['objects', '{"a":{"b":{}}}', 3],
  ['lists and objects one after the other', '[[],[],{},{"a":[]}]', 3],
  ['brackets inside texts', '["[[[[{{{{", "\\"[[[[", {"[[[[": 1}]', 2],
  ['a text that ends with a backslash', '["\\\\", [1]]', 2],
])('the nesting of %s is counted as JSON means it', (_, text, depth) => {
  expect(() => JSON.parse(text) as unknown).not.toThrow();
  expect(exceedsStructure(json(text), nested(depth))).toBe(false);
  expect(exceedsStructure(json(text), nested(depth - 1))).toBe(true);
});

test.each([
  ['lists', '[[],[],[]]', 4, 2],
  ['objects with keys', '{"a":{"b":1},"c":2}', 5, 1],
  ['repeated keys', '{"a":1,"a":1,"a":1}', 4, 2],
  ['commas, colons and brackets inside texts', '["a,b:c[d{","\\",:[{"]', 1, 1],
  ['texts', '["a","b","c"]', 1, 2],
])('lists, objects, keys and elements of %s are counted', (_, text, nodes, elements) => {
  expect(exceedsStructure(json(text), { depth: 9, nodes, elements })).toBe(false);
  expect(exceedsStructure(json(text), { depth: 9, nodes: nodes - 1, elements })).toBe(true);
  expect(exceedsStructure(json(text), { depth: 9, nodes, elements: elements - 1 })).toBe(true);
});

test('a body of nested lists or of many values is recognised without being parsed', () => {
  expect(exceedsStructure(json('['.repeat(4_000_000)))).toBe(true);
  expect(exceedsStructure(json('['.repeat(1000)))).toBe(false);
  expect(exceedsStructure(json(`[${'[],'.repeat(2_796_000)}[]]`))).toBe(true);
  expect(exceedsStructure(json(`{${'"a":1,'.repeat(1_300_000)}"a":1}`))).toBe(true);
  expect(exceedsStructure(json(`[${'1,'.repeat(4_000_000)}1]`))).toBe(true);
});

test('the largest audience, 200 conditions with 1,000 values each, is within the bounds', () => {
  const condition = { trait: 'x', op: 'in', value: Array(1000).fill(1) };
  const audience = JSON.stringify({ all: Array(200).fill(condition) });
  expect(exceedsStructure(json(audience))).toBe(false);
});
