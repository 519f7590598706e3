import { isJsonObject, jsonObject, type JsonObject } from '../json.ts';
import { numberText } from '../values.ts';

/** A text or number field as trimmed text; empty for anything else. */
export function textField(from: JsonObject | undefined, key: string): string {
  const value = from?.[key];
  if (typeof value === 'string') return value.trim();
  return typeof value === 'number' && Number.isFinite(value) ? numberText(value) : '';
}

/** The first non-empty text; empty when there is none. */
export function firstText(...texts: readonly string[]): string {
  return texts.find((text) => text !== '') ?? '';
}

/** An id as text; undefined when absent, empty or 0 (platforms write 0 for none). */
export function idField(from: JsonObject | undefined, key: string): string | undefined {
  const id = textField(from, key);
  return id === '' || id === '0' ? undefined : id;
}

const AMOUNT = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** An amount given as a number or as digits; undefined otherwise. */
export function amountField(from: JsonObject | undefined, key: string): number | undefined {
  const value = from?.[key];
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || !AMOUNT.test(value.trim())) return undefined;
  const amount = Number(value);
  return Number.isFinite(amount) ? amount : undefined;
}

export function objectField(from: JsonObject | undefined, key: string): JsonObject | undefined {
  return jsonObject(from?.[key]);
}

/** The objects of an array; other items are dropped. */
export function objectsField(from: JsonObject | undefined, key: string): JsonObject[] {
  const value = from?.[key];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A boolean field; undefined for anything else. */
export function flagField(from: JsonObject | undefined, key: string): boolean | undefined {
  const value = from?.[key];
  return typeof value === 'boolean' ? value : undefined;
}
