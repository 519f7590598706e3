import { afterAll, vi } from 'vitest';

/**
 * Unit tests of many files run in one process: what a file replaced is there again for the next
 * one. Vitest runs this before each file.
 */
const environment = { ...process.env };

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  for (const name of Object.keys(process.env))
    if (!(name in environment)) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, environment);
});
