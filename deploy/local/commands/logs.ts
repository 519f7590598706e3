import { existsSync, readdirSync } from 'node:fs';
import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import { lastLines, logFile, readFrom, sizeOf } from '../supervisor/log-file.ts';
import { paint, print } from '../../../cli/terminal.ts';

const usage = 'logs [PART] [--follow|-f] [--lines N|-n N]';
const FOLLOW_MS = 300;
const PIECE_BYTES = 1024 * 1024;

export const logs: Command = {
  name: 'logs',
  summary: 'shows the last lines of one part, or of all; -f follows',
  usage,
  run: async (args, { home }) => {
    const options = {
      follow: { type: 'boolean', short: 'f' },
      lines: { type: 'string', short: 'n' },
    } as const;
    const { values, words } = parseLine({ args, options, usage, words: { min: 0, max: 1 } });
    const part = words[0];
    const known = existsSync(home.logs)
      ? readdirSync(home.logs).flatMap((file) => (file.endsWith('.log') ? [file.slice(0, -4)] : []))
      : [];
    if (part !== undefined && !known.includes(part)) {
      throw new CommandError(
        known.length === 0
          ? 'there are no logs yet: ./ravand up'
          : `there is no log of ${JSON.stringify(part)}; there are ${known.join(', ')}`,
      );
    }
    const lines = values.lines ?? (part === undefined ? '10' : '200');
    if (!/^\d{1,6}$/.test(lines))
      throw new CommandError(`--lines ${lines}: expected a whole number`, 2);
    const shown = part === undefined ? known : [part];
    const width = Math.max(0, ...shown.map((name) => name.length));
    const show = (name: string, line: string) =>
      print(part === undefined ? `${paint('cyan', name.padEnd(width))} ${line}` : line);
    const files = shown.map((name) => ({ name, path: logFile(home.logs, name) }));
    const positions = files.map(({ path }) => sizeOf(path));
    for (const { name, path } of files)
      for (const line of lastLines(path, Number(lines))) show(name, line);
    if (values.follow !== true) return 0;
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS));
      for (const [index, { name, path }] of files.entries()) {
        const fresh = readFresh(path, positions[index] ?? 0);
        positions[index] = fresh.position;
        for (const line of fresh.lines) show(name, line);
      }
    }
  },
};

/**
 * Whole lines that were appended since; a file that became shorter was rotated and is read from its
 * beginning.
 */
function readFresh(path: string, since: number): { lines: string[]; position: number } {
  const size = sizeOf(path);
  const from = size < since ? 0 : since;
  if (size === from) return { lines: [], position: from };
  const piece = readFrom(path, from, Math.min(size - from, PIECE_BYTES));
  const end = piece.lastIndexOf(0x0a);
  if (end < 0)
    return { lines: [], position: piece.length === PIECE_BYTES ? from + piece.length : from };
  return { lines: piece.subarray(0, end).toString('utf8').split('\n'), position: from + end + 1 };
}
