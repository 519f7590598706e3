import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureServerPasswords } from './server-passwords.ts';

describe('the passwords of the servers of a home', () => {
  let home: { passwordsFile: string };
  beforeEach(() => {
    home = { passwordsFile: join(mkdtempSync(join(tmpdir(), 'ravand-pw-')), 'passwords.json') };
  });
  afterEach(() => rmSync(join(home.passwordsFile, '..'), { recursive: true }));

  it('are made once, all different, readable by the owner only', () => {
    const first = ensureServerPasswords(home);
    expect(ensureServerPasswords(home)).toEqual(first);
    expect(JSON.parse(readFileSync(home.passwordsFile, 'utf8'))).toEqual(first);
    expect(statSync(home.passwordsFile).mode & 0o777).toBe(0o600);
    expect(new Set(Object.values(first)).size).toBe(4);
  });

  it('need no escape in a URL', () => {
    for (const password of Object.values(ensureServerPasswords(home)))
      expect(password).toMatch(/^[0-9a-f]{40}$/);
  });

  it('are completed when a version knows more servers than the one that made the file', () => {
    writeFileSync(home.passwordsFile, '{"redis":"kept"}');
    const completed = ensureServerPasswords(home);
    expect(completed.redis).toBe('kept');
    expect(completed.clickhouse).toHaveLength(40);
  });
});
