import { createReadStream, existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { FileMissing, type ExportFiles } from '../../platform/files/folder-files.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { holds, type Needle } from './needles.ts';
import type { Finding, Search, Verification } from './findings.ts';

/** Searches the files of a folder of this machine. */
export async function searchFolder(
  folder: string,
  { needles, signal }: Search,
): Promise<Verification> {
  const findings: Finding[] = [];
  if (!existsSync(folder)) return { findings, mentions: [] };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    try {
      if (await holdsSome(createReadStream(path, { signal }), needles))
        findings.push({ store: 'files', place: relative(join(folder, '..'), path), count: 1 });
    } catch (error) {
      // Removed meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return { findings, mentions: [] };
}

/**
 * Searches the files of exports, also those that no export has. Not those of other accounts, and
 * not what was written after the removal: it may hold the new person, and others who name this one.
 */
export async function searchExports(
  { database, files }: { database: Pick<Database, 'query'>; files: ExportFiles },
  { erasure, needles, signal }: Search,
): Promise<Verification> {
  const names = await files.list();
  const { rows } = await database.query<{ id: string }>(
    `SELECT id FROM exports WHERE account_id <> $1 OR claimed_at >
       (SELECT max(at) FROM audit_lines WHERE action = 'erasure.removed' AND details ->> 'erasure' = $2)`,
    [erasure.accountId, String(erasure.id)],
  );
  const others = new Set(rows.map(({ id }) => id));
  const findings: Finding[] = [];
  for (const name of names) {
    signal.throwIfAborted();
    const [, id] = /^export-(\d+)-/.exec(name) ?? [];
    if (id !== undefined && others.has(id)) continue;
    if (await exportHolds(files, name, needles))
      findings.push({ store: 'files', place: `exports/${name}`, count: 1 });
  }
  return { findings, mentions: [] };
}

async function exportHolds(
  files: ExportFiles,
  name: string,
  needles: readonly Needle[],
): Promise<boolean> {
  // What is left of an interrupted write has the name with an ending.
  for (const one of [name, `${name}.part`])
    try {
      if (await holdsSome(await files.read(one), needles)) return true;
    } catch (error) {
      if (!(error instanceof FileMissing)) throw error;
    }
  return false;
}

async function holdsSome(
  content: AsyncIterable<unknown>,
  needles: readonly Needle[],
): Promise<boolean> {
  const longest = Math.max(0, ...needles.flatMap(({ bytes }) => bytes.map(({ length }) => length)));
  let tail = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = Buffer.concat([tail, chunk as Buffer]);
    if (needles.some((needle) => holds(bytes, needle))) return true;
    // With what may stand before it.
    tail = bytes.subarray(Math.max(0, bytes.length - longest - 2));
  }
  return false;
}
