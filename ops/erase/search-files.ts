import { createReadStream, existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { holds, type Needle } from './needles.ts';
import type { Finding, Search, Verification } from './findings.ts';

/** Searches the files of exports and of the spool of this machine. */
export async function searchFiles(
  folders: readonly string[],
  { needles, signal }: Search,
): Promise<Verification> {
  const findings: Finding[] = [];
  for (const folder of folders.filter((one) => existsSync(one)))
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      for (const needle of needles)
        if (await fileHolds(path, needle, signal))
          findings.push({ store: 'files', place: relative(join(folder, '..'), path), count: 1 });
    }
  return { findings, mentions: [] };
}

async function fileHolds(path: string, needle: Needle, signal: AbortSignal): Promise<boolean> {
  const longest = needle.bytes.reduce((most, { length }) => Math.max(most, length), 0);
  let tail = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(path, { signal })) {
      const bytes = Buffer.concat([tail, chunk as Buffer]);
      if (holds(bytes, needle)) return true;
      tail = bytes.subarray(Math.max(0, bytes.length - longest));
    }
  } catch (error) {
    // Removed meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return false;
}
