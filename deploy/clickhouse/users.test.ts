import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MIGRATIONS_USER, REPORTS_USER, SERVICES_USER } from '../local/server-passwords.ts';
import { grantsOf } from './read-users.ts';

it('the page about connections has the users and rights that the stack uses', () => {
  const page = readFileSync(
    join(import.meta.dirname, '../../docs/operations/connections.md'),
    'utf8',
  );
  const statements = readFileSync(join(import.meta.dirname, 'users.sql'), 'utf8').trim();
  expect(page).toContain(`\`\`\`sql\n${statements}\n\`\`\``);
});

it('the page about shards has the rights that a stack of two shards uses', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations/shards.md'), 'utf8');
  const statements = readFileSync(join(import.meta.dirname, 'shard-users.sql'), 'utf8').trim();
  expect(page).toContain(`\`\`\`sql\n${statements}\n\`\`\``);
});

it('every user has rights, on the database of the stack and on that of a shard', () => {
  for (const user of [MIGRATIONS_USER, SERVICES_USER, REPORTS_USER]) {
    const grants = grantsOf(user, { database: 'other', isShard: true });
    for (const database of ['other', 'other_shard'])
      expect(grants.some((grant) => grant.endsWith(` ON ${database}.*`))).toBe(true);
  }
  expect(grantsOf(REPORTS_USER, { database: 'other' })).toEqual([
    'GRANT SELECT ON other.*',
    'GRANT SELECT ON system.server_settings',
    'GRANT SELECT ON system.processes',
    'GRANT SELECT ON system.parts',
    'GRANT SELECT ON system.mutations',
  ]);
});
