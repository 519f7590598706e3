import { closeSync, mkdtempSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lastLines, logFile, openLog, rotateIfLarge } from './log-file.ts';

describe('the log of a service', () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'ravand-log-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is rotated when it is too large, while the service keeps writing', () => {
    const log = openLog(folder, 'kafka');
    writeSync(log, 'old\n'.repeat(100));
    expect(rotateIfLarge(folder, 'kafka', 1000)).toBe(false);
    expect(rotateIfLarge(folder, 'kafka', 100)).toBe(true);
    writeSync(log, 'new\n');
    closeSync(log);
    expect(readFileSync(logFile(folder, 'kafka'), 'utf8')).toBe('new\n');
    expect(readFileSync(`${logFile(folder, 'kafka')}.1`, 'utf8')).toHaveLength(400);
  });

  it('shows its last lines', () => {
    writeFileSync(logFile(folder, 'redis'), 'one\ntwo\nthree\n');
    expect(lastLines(logFile(folder, 'redis'), 2)).toEqual(['two', 'three']);
    expect(lastLines(logFile(folder, 'nobody'), 2)).toEqual([]);
  });
});
