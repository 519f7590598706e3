import { isJsonObject } from '../../events/json.ts';
import { redactText } from '../../platform/redaction/redact-text.ts';
import {
  isAboutPerson,
  type OperationKind,
  type OperationState,
} from '../../platform/operations/operation.ts';

/** How a command ended. */
export interface CommandEnd {
  /** undefined: a signal ended it. */
  code: number | undefined;
  stdout: string;
  stderr: string;
  /** It was asked to stop. */
  isStopped: boolean;
}

export interface OperationEnd {
  state: Extract<OperationState, 'succeeded' | 'failed' | 'stopped'>;
  result: Readonly<Record<string, unknown>> | undefined;
  error: string;
}

const MAX_ERROR = 500;
const MAX_RESULT = 32_768;
/** Of the stack of an unexpected error. */
const STACK = /^\s+at /;
const ADDRESS = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g;

/**
 * What is kept of a command's output. A command that exits with 1 and prints its JSON did its work
 * and found something: rows that differ, a person who is not known. Of people only counts are kept.
 */
export function operationEnd(kind: OperationKind, end: CommandEnd): OperationEnd {
  const printed = lastJson(end.stdout);
  if (end.isStopped) return { state: 'stopped', result: printed && kept(kind, printed), error: '' };
  if (printed === undefined || (end.code !== 0 && end.code !== 1))
    return { state: 'failed', result: undefined, error: errorOf(kind, end) };
  return { state: 'succeeded', result: kept(kind, printed), error: '' };
}

function errorOf(kind: OperationKind, { code, stderr }: CommandEnd): string {
  // The sentences of these commands name the person.
  if (isAboutPerson(kind)) return `the command ended with ${code ?? 'a signal'}`;
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !STACK.test(line));
  const sentence = lines.at(-1)?.trim() ?? `the command ended with ${code ?? 'a signal'}`;
  // Members of an account read it: addresses of servers are none of their business.
  return redactText(sentence).replaceAll(ADDRESS, '…').slice(0, MAX_ERROR);
}

function lastJson(stdout: string): Record<string, unknown> | undefined {
  const line = stdout.trimEnd().split('\n').at(-1) ?? '';
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function kept(kind: OperationKind, printed: Record<string, unknown>): OperationEnd['result'] {
  if (!isAboutPerson(kind)) {
    if (JSON.stringify(printed).length > MAX_RESULT) return { is_long: true };
    // eslint-disable-next-line local/banned-words -- the key that ./ravand dlq prints
    const { letters: dead_letters, ...rest } = printed;
    return dead_letters === undefined ? rest : { ...rest, dead_letters };
  }
  const { known, names, beside, events, moved, one_person, applied } = printed;
  const count = (list: unknown) => (Array.isArray(list) ? list.length : undefined);
  const facts = {
    ...{ known, events, one_person, applied, state: printed['state'] },
    ...{ names: count(names), beside: count(beside), moved: count(moved) },
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}
