import pino from 'pino';

export type Log = pino.Logger;

/**
 * JSON logs on standard output. Levels by the operator's action: error = someone must act, warn =
 * look today, info = state change, debug = off. Lines contain account, trace and log position where
 * there are any; never a secret, never personal data.
 */
export function createLog(options: { part: string; level: string; to?: 'stdout' | 'stderr' }): Log {
  return pino(
    {
      level: options.level,
      base: { part: options.part, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination(options.to === 'stderr' ? 2 : 1),
  );
}
