import { REDACTED } from './redact-text.ts';

/**
 * Names of fields whose values are never written, without `-`, `_` and case: `writeKey`, but not
 * `write_key_id`. `args` are those of a command of ioredis, the password of AUTH among them.
 */
const SECRET_NAME =
  /password|passwd|passphrase|secrets?$|authorization|cookies?$|(session|access|auth|id|refresh|webhook)token$|credentials?$|(service|api|write|management|sealing|private|access)keys?$|connectionstring|panelpass|^args$/;

const MAX_DEPTH = 6;
const MAX_ENTRIES = 100;
const MAX_CAUSES = 5;

/** The part of an error that is logged. */
interface ErrorFields {
  type: string;
  message: string;
  code?: string | number;
  stack?: string;
}

/**
 * The fields of a log line without secrets by their names. An error, wherever it is, becomes its
 * name, message, code and stack: clients add the command, its arguments or the connection.
 */
export function logFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return entriesOf(fields, 0);
}

function entriesOf(value: object, depth: number): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const name of Object.keys(value).slice(0, MAX_ENTRIES))
    fields[name] = fieldOf(name, () => (value as Record<string, unknown>)[name], depth);
  return fields;
}

function fieldOf(name: string, read: () => unknown, depth: number): unknown {
  let value: unknown;
  try {
    value = read();
  } catch {
    return '[unreadable]';
  }
  const isText = typeof value === 'string' || (typeof value === 'object' && value !== null);
  return isText && SECRET_NAME.test(name.toLowerCase().replaceAll(/[-_. ]/g, ''))
    ? REDACTED
    : loggable(value, depth);
}

function loggable(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return errorFields(value);
  if (value instanceof Uint8Array) return `[${value.length} bytes]`;
  if ('toJSON' in value && typeof value.toJSON === 'function') return value;
  if (depth >= MAX_DEPTH) return '[…]';
  if (Array.isArray(value))
    return value.slice(0, MAX_ENTRIES).map((one) => loggable(one, depth + 1));
  return entriesOf(value, depth + 1);
}

/** The messages of its causes are behind its own, as the stacks are. */
export function errorFields(error: Error): ErrorFields {
  const errors = [error];
  for (let at = error; at.cause instanceof Error && errors.length < MAX_CAUSES; at = at.cause)
    errors.push(at.cause);
  const { code } = error as NodeJS.ErrnoException;
  const parts: unknown[] = error instanceof AggregateError ? error.errors : [];
  const messages = [...errors, ...parts.slice(0, MAX_CAUSES)]
    .map((one) => (one instanceof Error ? one.message : String(one)))
    .filter((message) => message !== '');
  return {
    // Many classes do not set their name.
    type: error.name === 'Error' || error.name === 'error' ? error.constructor.name : error.name,
    message: messages.join(': '),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(error.stack === undefined
      ? {}
      : { stack: errors.map(({ stack }) => stack).join('\ncaused by: ') }),
  };
}
