import { describe, expect, it } from 'vitest';
import { RefusedChange } from '../fields.ts';
import { readAnswers } from './answers.ts';
import type { FieldType, OnsiteField } from './definition.ts';

const field = (type: FieldType, change: Partial<OnsiteField> = {}): OnsiteField => ({
  ...{ name: 'a', type, required: false },
  ...(type === 'choice' ? { options: ['آبی', 'سبز'] } : {}),
  ...change,
});

/** The answer that is stored for one field. */
function answerTo(type: FieldType, sent: unknown, required = false): unknown {
  try {
    return readAnswers([field(type, { required })], { a: sent })['a'];
  } catch (error) {
    if (error instanceof RefusedChange) return error.message;
    throw error;
  }
}

describe('an answer', () => {
  it.each<[FieldType, unknown, unknown]>([
    ['text', ' سلام ', ' سلام '],
    ['text', 'x'.repeat(4096), 'x'.repeat(4096)],
    ['number', 12.5, 12.5],
    ['number', '12.5', 12.5],
    ['number', ' -3 ', -3],
    ['number', '1e3', 1000],
    ['number', '۱۲٫۵', 12.5],
    ['choice', 'سبز', 'سبز'],
    ['rating', 5, 5],
    ['rating', '1', 1],
    ['rating', '۴', 4],
  ])('to a field of type %s is kept: %j', (type, sent, stored) => {
    expect(answerTo(type, sent)).toBe(stored);
  });

  it.each<[FieldType, unknown, string]>([
    ['text', 5, "'a' is not a text"],
    ['text', ['x'], "'a' is not a text"],
    ['text', 'x'.repeat(4097), "'a' is longer than 4096 bytes"],
    ['number', 'twelve', "'a' is not a number"],
    ['number', '0x10', "'a' is not a number"],
    ['number', '1e999', "'a' is not a number"],
    ['number', '1'.repeat(65), "'a' is not a number"],
    ['number', true, "'a' is not a number"],
    ['number', {}, "'a' is not a number"],
    ['choice', 'قرمز', "'a' is not one of its options"],
    ['choice', ['سبز'], "'a' is not one of its options"],
    ['rating', 0, "'a' is not a whole number from 1 to 5"],
    ['rating', 6, "'a' is not a whole number from 1 to 5"],
    ['rating', 2.5, "'a' is not a whole number from 1 to 5"],
    ['rating', 'good', "'a' is not a whole number from 1 to 5"],
  ])('to a field of type %s is refused: %j', (type, sent, text) => {
    expect(answerTo(type, sent)).toBe(text);
  });

  it.each([undefined, null, '', ' \n'])('of %j is none', (sent) => {
    for (const type of ['text', 'number', 'choice', 'rating'] as const) {
      expect(answerTo(type, sent)).toBeUndefined();
      expect(answerTo(type, sent, true)).toBe("'a' is required");
    }
  });
});

describe('answers', () => {
  it('are refused when they answer a field that does not exist', () => {
    const answers = () => readAnswers([field('text')], { a: 'x', b: 'y' });
    expect(answers).toThrow("there is no field 'b'");
    expect(() => readAnswers([], { __proto: 1 })).toThrow("there is no field '__proto'");
    expect(() => readAnswers([], { constructor: 1 })).toThrow("there is no field 'constructor'");
    const long = 'ب'.repeat(5000);
    expect(() => readAnswers([], { [long]: 1 })).toThrow(`'${long.slice(0, 60)}…'`);
  });

  it('are refused when they are no object', () => {
    for (const sent of [undefined, null, [], 'x', 5])
      expect(() => readAnswers([], sent)).toThrow('answers is not an object');
  });

  it('are refused when they are too long together', () => {
    const fields = ['a', 'b', 'c'].map((name) => field('text', { name }));
    const answers = Object.fromEntries(fields.map(({ name }) => [name, 'x'.repeat(3000)]));
    expect(() => readAnswers(fields, answers)).toThrow('answers are longer than 8192 bytes');
  });

  it('stand in the order of the fields', () => {
    const fields = ['b', 'a'].map((name) => field('text', { name }));
    expect(Object.keys(readAnswers(fields, { a: '1', b: '2' }))).toEqual(['b', 'a']);
  });

  it('may have the name of a member that every object has', () => {
    const fields = [field('number', { name: '__proto__' }), field('text', { name: 'toString' })];
    const sent = JSON.parse('{"__proto__": 5}') as unknown;
    expect(Object.entries(readAnswers(fields, sent))).toEqual([['__proto__', 5]]);
  });
});
