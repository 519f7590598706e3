import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface MigrationFile {
  /** File name with the ending, `NNNN_name.sql`. */
  file: string;
  sql: string;
  /** SHA-256 of the file, as hexadecimal digits. */
  checksum: string;
}

/** A migration was changed after it ran in this installation. */
export class MigrationChanged extends Error {
  override readonly name = 'MigrationChanged';
}

/** The `NNNN_name.sql` files of a folder, by number. */
export function readMigrationFiles(folder: string): MigrationFile[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_[a-z0-9_]+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(folder, file), 'utf8');
      return { file, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

/**
 * Throws MigrationChanged when a migration that ran has another checksum now. `ran`: checksums by
 * name; one that is unknown, since an earlier release did not record it, matches.
 */
export function requireUnchanged(
  files: readonly (Pick<MigrationFile, 'file' | 'checksum'> & { name: string })[],
  ran: ReadonlyMap<string, string | undefined>,
  server: string,
): void {
  const changed = files.filter(({ name, checksum }) => (ran.get(name) ?? checksum) !== checksum);
  if (changed.length === 0) return;
  const names = changed.map(({ file }) => basename(file)).join(', ');
  throw new MigrationChanged(
    `${names}: changed after it ran in ${server}. Nothing was run. A landed migration never changes: restore the file (git log -- the file shows its versions) and put the change into a new migration`,
  );
}
