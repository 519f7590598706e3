import {
  appendFileSync,
  closeSync,
  copyFileSync,
  openSync,
  readSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';

/** A larger log is moved to SERVICE.log.1, replacing it: a service takes about twice this. */
const MAX_BYTES = 32 * 2 ** 20;
const TAIL_BYTES = 256 * 1024;

export function logFile(logs: string, service: string): string {
  return join(logs, `${service}.log`);
}

/** Opens a child's log in append mode: after a rotation it writes at the new start. */
export function openLog(logs: string, service: string): number {
  return openSync(logFile(logs, service), 'a', 0o600);
}

export function note(logs: string, service: string, text: string): void {
  appendFileSync(logFile(logs, service), `--- ${new Date().toISOString()} ravand: ${text}\n`, {
    mode: 0o600,
  });
}

/** Copies and truncates, as the child keeps its file open; lines in between are lost. */
export function rotateIfLarge(logs: string, service: string, maxBytes = MAX_BYTES): boolean {
  const path = logFile(logs, service);
  if (sizeOf(path) <= maxBytes) return false;
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
  return true;
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The last lines of a file, from its last 256 KiB. */
export function lastLines(path: string, count: number): string[] {
  const size = sizeOf(path);
  if (size === 0) return [];
  const from = Math.max(0, size - TAIL_BYTES);
  const lines = readFrom(path, from, size - from)
    .toString('utf8')
    .split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.slice(-count);
}

/** Up to `length` bytes from an offset. */
export function readFrom(path: string, offset: number, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(file, buffer, 0, length, offset));
  } finally {
    closeSync(file);
  }
}
