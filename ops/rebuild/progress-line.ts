import { countText, spanText } from '../../cli/format.ts';

export interface ProgressLine {
  show(state: { records: number; left: number; rows: number }): void;
  end(): void;
}

/**
 * Shows rate and remaining records on standard error: in place on a terminal, elsewhere a line
 * every ten seconds.
 */
export function startProgressLine({ quiet }: { quiet: boolean }): ProgressLine {
  const tty = process.stderr.isTTY;
  const every = tty ? 200 : 10_000;
  let began: { at: number; records: number; rows: number } | undefined;
  let shownAt = 0;
  let isOpen = false;
  return {
    show({ records, left, rows }) {
      const now = performance.now();
      began ??= { at: now, records, rows };
      if (quiet || now - shownAt < every) return;
      shownAt = now;
      const seconds = Math.max(0.001, (now - began.at) / 1000);
      const pace = (records - began.records) / seconds;
      const rest = pace > 0 ? `, ${spanText((left / pace) * 1000)} left` : '';
      const text = `${countText(rows)} rows, ${countText(Math.round((rows - began.rows) / seconds))} rows/s, ${countText(left)} records behind the live table${rest}`;
      process.stderr.write(tty ? `\r\u001b[2K${text}` : `${text}\n`);
      isOpen = tty;
    },
    end() {
      if (isOpen) process.stderr.write('\n');
      isOpen = false;
    },
  };
}
