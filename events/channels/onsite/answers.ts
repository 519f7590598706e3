import { fitsBytes, utf8Length, wellFormed } from '../../bytes.ts';
import { asciiDigits } from '../../iran-phone.ts';
import { isJsonObject } from '../../json.ts';
import { MAX_VALUE_BYTES } from '../../values.ts';
import { RefusedChange } from '../fields.ts';
import type { OnsiteField } from './definition.ts';
import { quoted } from './read-values.ts';

/** A text that answers a field, bytes. */
const MAX_TEXT_BYTES = 4096;
const MAX_NUMBER_CHARACTERS = 64;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const RATING = { min: 1, max: 5 };

/** Answers by field, in the order of the fields. */
export type Answers = Readonly<Record<string, string | number>>;

/**
 * Checks the answers to a survey or form against its fields. A number sent as a text is a number;
 * an empty text and null answer nothing. All answers together are stored as one property too, so
 * they have at most MAX_VALUE_BYTES of JSON. Throws RefusedChange, whose text names the field.
 */
export function readAnswers(fields: readonly OnsiteField[], sent: unknown): Answers {
  if (!isJsonObject(sent)) throw new RefusedChange('answers is not an object');
  const known = new Set(fields.map(({ name }) => name));
  for (const name of Object.keys(sent))
    if (!known.has(wellFormed(name))) throw new RefusedChange(`there is no field ${quoted(name)}`);
  const answers = Object.fromEntries(
    fields.flatMap((field) => {
      const value = Object.hasOwn(sent, field.name) ? sent[field.name] : undefined;
      const answer = readAnswer(field, value);
      if (answer === undefined && field.required)
        throw new RefusedChange(`${quoted(field.name)} is required`);
      return answer === undefined ? [] : [[field.name, answer] as const];
    }),
  );
  if (utf8Length(JSON.stringify(answers)) > MAX_VALUE_BYTES)
    throw new RefusedChange(`answers are longer than ${MAX_VALUE_BYTES} bytes of JSON together`);
  return answers;
}

/** Undefined: nothing was answered. */
function readAnswer(field: OnsiteField, sent: unknown): string | number | undefined {
  if (sent === undefined || sent === null) return undefined;
  if (typeof sent === 'string' && sent.trim() === '') return undefined;
  const { name, type, options = [] } = field;
  const refuse = (why: string) => new RefusedChange(`${quoted(name)} ${why}`);
  switch (type) {
    case 'text': {
      if (typeof sent !== 'string') throw refuse('is not a text');
      if (!fitsBytes(sent, MAX_TEXT_BYTES)) throw refuse(`is longer than ${MAX_TEXT_BYTES} bytes`);
      return wellFormed(sent);
    }
    case 'choice': {
      const option = options.find((one) => one === sent);
      if (option === undefined) throw refuse('is not one of its options');
      return option;
    }
    case 'number': {
      const value = numberOf(sent);
      if (value === undefined) throw refuse('is not a number');
      return value;
    }
    case 'rating': {
      const value = numberOf(sent);
      if (!Number.isInteger(value) || Number(value) < RATING.min || Number(value) > RATING.max)
        throw refuse(`is not a whole number from ${RATING.min} to ${RATING.max}`);
      return value;
    }
  }
}

/** A finite number, also as a text with Persian digits; undefined for anything else. */
function numberOf(sent: unknown): number | undefined {
  if (typeof sent === 'number') return Number.isFinite(sent) ? sent : undefined;
  if (typeof sent !== 'string' || sent.length > MAX_NUMBER_CHARACTERS) return undefined;
  const text = asciiDigits(sent.trim()).replace('٫', '.');
  const value = NUMBER.test(text) ? Number(text) : NaN;
  return Number.isFinite(value) ? value : undefined;
}
