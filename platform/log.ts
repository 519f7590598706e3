import pino from 'pino';
import { errorFields, logFields } from './redaction/log-fields.ts';
import { redactText } from './redaction/redact-text.ts';

export type Log = pino.Logger;

/**
 * JSON logs on standard output. Levels by the operator's action: error = someone must act, warn =
 * look today, info = state change, debug = off. Lines contain account, trace and log position where
 * there are any; never personal data. Secrets are removed here, whatever is logged: fields by their
 * names, errors to name, message, code and stack, and the secrets of the settings from the line.
 */
export function createLog(options: {
  part: string;
  level: string;
  to?: 'stdout' | 'stderr' | pino.DestinationStream;
}): Log {
  const { to = 'stdout' } = options;
  return pino(
    {
      level: options.level,
      base: { part: options.part, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: logFields,
      },
      serializers: {
        err: (value: unknown) => (value instanceof Error ? errorFields(value) : value),
      },
      hooks: { streamWrite: redactText },
    },
    typeof to === 'string' ? pino.destination(to === 'stderr' ? 2 : 1) : to,
  );
}
