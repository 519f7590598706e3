import type { Waiting } from './queue.ts';

/**
 * A line of the queue file, a JSON array: an event `["e", id, item]`, first attempts
 * `["a", at, ids]`, and events that are complete `["r", ids]`.
 */
export type Line = ['e', string, string] | ['a', number, string[]] | ['r', string[]];

export const textOf = (lines: readonly Line[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/** Of a file that holds nothing but these events. */
export function linesOf(events: Iterable<Waiting>): Line[] {
  const lines: Line[] = [];
  for (const { id, json, attemptedAt } of events) {
    lines.push(['e', id, json]);
    if (attemptedAt !== undefined) lines.push(['a', attemptedAt, [id]]);
  }
  return lines;
}

/**
 * The events that wait, by id. A crash may leave damaged lines, of calls that were not durable yet:
 * they are left out and counted.
 */
export function readLines(text: string): { events: Map<string, Waiting>; damaged: number } {
  const events = new Map<string, Waiting>();
  let damaged = 0;
  for (const part of text.split('\n')) {
    if (part === '') continue;
    const line = parse(part);
    if (!line) damaged++;
    else apply(events, line);
  }
  return { events, damaged };
}

function apply(events: Map<string, Waiting>, line: Line): void {
  switch (line[0]) {
    case 'e':
      events.set(line[1], { id: line[1], json: line[2], attemptedAt: undefined });
      break;
    case 'a':
      for (const id of line[2]) {
        const event = events.get(id);
        if (event) event.attemptedAt ??= line[1];
      }
      break;
    case 'r':
      for (const id of line[1]) events.delete(id);
  }
}

function parse(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line;
    const isKnown = Array.isArray(line) && ['e', 'a', 'r'].includes(line[0]);
    return isKnown ? line : undefined;
  } catch {
    return undefined;
  }
}
