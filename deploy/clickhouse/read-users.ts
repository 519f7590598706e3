import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The rights of a user in users.sql, as statements for a server's configuration. */
export function grantsOf(user: string, database: string): string[] {
  const statements = readFileSync(join(import.meta.dirname, 'users.sql'), 'utf8').split('\n');
  const end = ` TO ${user};`;
  return statements
    .filter((line) => line.startsWith('GRANT ') && line.endsWith(end))
    .map((line) => line.slice(0, -end.length).replace(' ON ravand.*', ` ON ${database}.*`));
}
