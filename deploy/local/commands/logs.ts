import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import { lastLines, logFile, readFrom, sizeOf } from '../supervisor/log-file.ts';
import { paint, print } from '../../../cli/terminal.ts';

const FOLLOW_MS = 300;
const CHUNK_BYTES = 1024 * 1024;

export const logs: Command = {
  name: 'logs',
  summary: 'shows the last lines of one service, or of all; -f follows',
  usage: 'logs [SERVICE] [--follow|-f] [--lines N|-n N]',
  run: async (args, { home }) => {
    const options = {
      follow: { type: 'boolean', short: 'f' },
      lines: { type: 'string', short: 'n' },
    } as const;
    const { values, words } = parseLine({ args, options, words: { min: 0, max: 1 } });
    const service = words[0];
    const known = existsSync(home.logs)
      ? readdirSync(home.logs).flatMap((file) => (file.endsWith('.log') ? [file.slice(0, -4)] : []))
      : [];
    if (service !== undefined && !known.includes(service)) {
      throw new CommandError(
        known.length === 0
          ? 'there are no logs yet: ./ravand up'
          : `there is no log of ${JSON.stringify(service)}; there are ${known.join(', ')}`,
      );
    }
    const lines = values.lines ?? (service === undefined ? '10' : '200');
    if (!/^\d{1,6}$/.test(lines))
      throw new CommandError(`--lines ${lines}: expected a whole number`, 2);
    const shown = service === undefined ? known : [service];
    const width = Math.max(0, ...shown.map((name) => name.length));
    const show = (name: string, line: string) =>
      print(service === undefined ? `${paint('cyan', name.padEnd(width))} ${line}` : line);
    const files = shown.map((name) => ({ name, path: logFile(home.logs, name) }));
    const positions = files.map(({ path }) => sizeOf(path));
    for (const { name, path } of files)
      for (const line of lastLines(path, Number(lines))) show(name, line);
    if (values.follow !== true) return 0;
    for (;;) {
      await wait(FOLLOW_MS);
      for (const [index, { name, path }] of files.entries()) {
        const fresh = readFresh(path, positions[index] ?? 0);
        positions[index] = fresh.position;
        for (const line of fresh.lines) show(name, line);
      }
    }
  },
};

/** Complete lines since a position; a file that became shorter was rotated and is read again. */
function readFresh(path: string, since: number): { lines: string[]; position: number } {
  const size = sizeOf(path);
  const from = size < since ? 0 : since;
  if (size === from) return { lines: [], position: from };
  const chunk = readFrom(path, from, Math.min(size - from, CHUNK_BYTES));
  const end = chunk.lastIndexOf(0x0a);
  if (end < 0)
    return { lines: [], position: chunk.length === CHUNK_BYTES ? from + chunk.length : from };
  return { lines: chunk.subarray(0, end).toString('utf8').split('\n'), position: from + end + 1 };
}
