import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { expect, test } from 'vitest';
import { niceOf, setNice } from './nice.ts';

test('a service that sends campaigns gives way to one that answers requests', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  const before = getPriority(pid);
  setNice(pid, niceOf('ingest-gateway'));
  expect(getPriority(pid)).toBe(before);
  setNice(pid, niceOf('management-api'));
  // Only who may be less nice is.
  expect([before + niceOf('management-api'), before]).toContain(getPriority(pid));
  setNice(pid, before - getPriority(pid));
  expect(getPriority(pid)).toBe(before);
  expect(niceOf('dispatcher')).toBeGreaterThan(niceOf('normaliser'));
  setNice(pid, niceOf('dispatcher'));
  expect(getPriority(pid)).toBe(Math.min(before + niceOf('dispatcher'), 19));
  child.stdin.end();
  await once(child, 'exit');
  // It has ended: nothing is left to be set.
  setNice(pid, 1);
});
