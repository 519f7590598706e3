import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The folders with the migrations of ClickHouse. They run together, by number: one may change
 * tables of other folders.
 */
export function ddlFolders(): string[] {
  return readdirSync(import.meta.dirname)
    .map((name) => join(import.meta.dirname, name, 'ddl'))
    .filter((folder) => existsSync(folder));
}
