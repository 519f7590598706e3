import { CommandError } from '../cli/command.ts';
import { parseDuration } from '../platform/duration.ts';

/** A time like 2026-11-21T08:00:00Z or an age like 36h, as ms since the epoch. */
export function sinceOption(text: string | undefined, { now, age }: { now: number; age: number }) {
  if (text === undefined) return now - age;
  const ms = /^\d+(\.\d+)?$/.test(text) ? undefined : parseDuration(text);
  const at = ms === undefined ? Date.parse(text) : now - ms;
  if (Number.isNaN(at))
    throw new CommandError(
      `--since ${text}: expected a time like 2026-11-21T08:00:00Z, or an age like 36h or 7d`,
      2,
    );
  return at;
}
