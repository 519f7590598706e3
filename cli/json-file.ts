import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Writes a file that only the owner may read, whole or not at all. */
export function writePrivateFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}.tmp`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}

export function writeJsonFile(path: string, value: unknown): void {
  writePrivateFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** A JSON file that this program wrote; undefined when absent or truncated. The caller types it. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function readJsonFile<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT')
      return undefined;
    throw error;
  }
}
