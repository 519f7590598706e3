import { LiquidError } from 'liquidjs';
import type { TemplateProblem } from '../templates/read-draft.ts';
import { REFUSED } from './allowed-liquid.ts';

/** Nothing can be rendered of it; the message says where and why. */
export class UnusableTemplate extends Error {
  constructor({ field, line, column, message }: TemplateProblem) {
    super(
      `${field}${line === undefined ? '' : `, line ${line}, column ${column ?? 0}`}: ${message}`,
    );
  }
}

/** What liquidjs throws while it parses or renders; line and column are those of the template. */
export function problemOf(field: string, error: unknown): TemplateProblem {
  if (!LiquidError.is(error)) return { field, message: textOfError(error) };
  const [line, column] = error.token.getPosition();
  return { field, line, column, message: sentenceOf(textOfError(error.originalError ?? error)) };
}

function textOfError(error: unknown): string {
  if (error instanceof RangeError) return 'it is too large: nest less, and use smaller values';
  return error instanceof Error ? error.message : String(error);
}

/** Sentences of liquidjs that need what to do instead. */
function sentenceOf(message: string): string {
  const [text = ''] = message.split(/, line:\d/);
  const [, name = ''] = /^(?:undefined filter: |tag ")([\w-]+)/.exec(text) ?? [];
  const instead = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined;
  if (instead !== undefined) return `${name} cannot be used: ${instead}`;
  if (text.startsWith('undefined filter')) return `there is no filter ${name}`;
  if (/^tag ".*" not found$/.test(text)) return `there is no tag ${name}`;
  if (text.endsWith('limit exceeded')) return 'its values become too large: use smaller ones';
  return text;
}
