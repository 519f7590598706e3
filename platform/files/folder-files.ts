import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A file that does not exist (any more). */
export class FileMissing extends Error {
  override readonly name = 'FileMissing';
}

/** Storage of export files. */
export interface ExportFiles {
  /** Writes a file atomically; it is durable when this resolves. */
  write(name: string, content: Readable, signal: AbortSignal): Promise<void>;
  /**
   * The bytes of a file, as they come; the caller reads or destroys them. Rejects with FileMissing.
   */
  read(name: string): Promise<Readable>;
  /**
   * Removes a file and the remains of an interrupted write; does nothing when there is none.
   */
  remove(name: string): Promise<void>;
  /** Names of the files and of interrupted writes. */
  list(): Promise<string[]>;
  /** Space that is left, bytes; Infinity where it is not known. */
  freeBytes(): Promise<number>;
}

/** Ending of a file that is being written. */
const PART = '.part';

/** Files in a folder: written under another name, synced, then renamed. */
export function folderFiles(folder: string): ExportFiles {
  const pathOf = (name: string) => join(folder, name);
  return {
    async write(name, content, signal) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = `${pathOf(name)}${PART}`;
      try {
        await pipeline(content, createWriteStream(draft, { mode: 0o600, flush: true }), { signal });
        await rename(draft, pathOf(name));
        await syncFolder(folder);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },
    async read(name) {
      try {
        const handle = await open(pathOf(name), 'r');
        return createReadStream(pathOf(name), { fd: handle });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT')
          throw new FileMissing(`there is no file ${pathOf(name)}`, { cause: error });
        throw error;
      }
    },
    async remove(name) {
      await Promise.all([
        rm(pathOf(name), { force: true }),
        rm(`${pathOf(name)}${PART}`, { force: true }),
      ]);
    },
    async list() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const names = (await readdir(folder)).map((name) =>
        name.endsWith(PART) ? name.slice(0, -PART.length) : name,
      );
      return [...new Set(names)];
    },
    async freeBytes() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
  };
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
