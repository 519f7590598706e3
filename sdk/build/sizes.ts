import type { HostFile } from './host-files.ts';

/** What pages may load, bytes after gzip: the core, and all entries that are loaded on demand. */
const BUDGETS = { core: 3500, entries: 14_000 };

/** The sizes for people. Throws when a budget is exceeded. */
export function checkSizes(files: readonly HostFile[]): string[] {
  const sizeOf = (some: readonly HostFile[]) => some.reduce((sum, { gzip }) => sum + gzip, 0);
  const core = sizeOf(files.filter(({ name }) => name === 'v1.js'));
  const entries = sizeOf(files.filter(({ name }) => name !== 'v1.js'));
  const lines = [line('core', core, BUDGETS.core), line('entries', entries, BUDGETS.entries)];
  if (core === 0 || core > BUDGETS.core || entries > BUDGETS.entries)
    throw new Error(`the SDK is larger than its budget\n${lines.join('\n')}`);
  return lines;
}

const line = (name: string, bytes: number, budget: number) =>
  `${name}: ${bytes} of ${budget} bytes (gzip)`;
