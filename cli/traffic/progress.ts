import { print } from '../terminal.ts';

/**
 * Shows the progress of a long run: a bar on a terminal, a line every ten per cent elsewhere.
 */
export interface Progress {
  advance(by: number): void;
  /** Prints a line above the bar. */
  note(line: string): void;
  end(): void;
}

const WIDTH = 30;

export function startProgress(options: {
  total: number;
  unit: string;
  now: () => number;
}): Progress {
  const { total, unit, now } = options;
  const tty = process.stdout.isTTY;
  const begun = now();
  let done = 0;
  let shownAt = 0;
  let tenth = 0;
  const line = () => {
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const rate = Math.round((done / Math.max(1, now() - begun)) * 1000);
    const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
    return `${bar} ${String(Math.floor(share * 100)).padStart(3)}%  ${Math.round(done).toLocaleString('en')} of ${total.toLocaleString('en')} ${unit}, ${rate.toLocaleString('en')}/s`;
  };
  const show = () => {
    if (tty) process.stdout.write(`\r\u001b[2K${line()}`);
    else if (Math.floor((done / Math.max(1, total)) * 10) > tenth) {
      tenth = Math.floor((done / Math.max(1, total)) * 10);
      print(line());
    }
  };
  return {
    advance(by) {
      done += by;
      if (!tty || now() - shownAt > 100) {
        shownAt = now();
        show();
      }
    },
    note(text) {
      if (tty) process.stdout.write('\r\u001b[2K');
      print(text);
    },
    end() {
      if (tty) process.stdout.write(`\r\u001b[2K${line()}\n`);
    },
  };
}
