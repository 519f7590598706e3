import { stripVTControlCharacters, styleText } from 'node:util';
import { redactText } from '../platform/redaction/redact-text.ts';

type Format = Parameters<typeof styleText>[0];

/** Colours on a terminal unless NO_COLOR is set. */
export function paint(format: Format, text: string): string {
  return usesColour() ? styleText(format, text, { validateStream: false }) : text;
}

function usesColour(): boolean {
  if ((process.env['NO_COLOR'] ?? '') !== '') return false;
  return process.stdout.isTTY && process.env['TERM'] !== 'dumb';
}

export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Without secrets, whatever an error says. */
export function printError(line: string): void {
  process.stderr.write(`${redactText(line)}\n`);
}

/** Rows under headings, columns as wide as their widest cell. */
export function table(headings: string[], rows: string[][]): string[] {
  const width = (text: string | undefined) => stripVTControlCharacters(text ?? '').length;
  const widths = headings.map((heading, column) =>
    Math.max(width(heading), ...rows.map((row) => width(row[column]))),
  );
  const format = (row: string[]) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
      .join('  ')
      .trimEnd();
  return [paint('dim', format(headings)), ...rows.map(format)];
}
