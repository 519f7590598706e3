import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { homeOf, makeHome, type Home } from '../../../cli/stack/home.ts';
import { reset } from './reset.ts';

describe('./ravand reset', () => {
  let dir: string;
  let home: Home;
  let printed: string[];
  const runReset = (env: NodeJS.ProcessEnv = {}) =>
    reset.run(['--yes'], { home, env, checkout: '/checkout', ready: () => undefined });

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'ravand-reset-'));
    home = homeOf({ checkout: '/checkout', env: { RAVAND_HOME: join(dir, 'home') } });
    makeHome(home);
    printed = [];
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(dir, { recursive: true, force: true });
  });

  it('leaves nothing that the stack wrote: not the exports, and no key', async () => {
    for (const [name, path] of Object.entries(home) as [string, string][]) {
      if (name === 'dir' || existsSync(path)) continue;
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, name);
    }
    rmSync(home.exports);
    mkdirSync(home.exports);
    writeFileSync(join(home.exports, 'people.csv'), 'sara');
    expect(await runReset()).toBe(0);
    expect(readdirSync(home.dir)).toEqual([]);
  });

  it('keeps what is not of the stack, and names the folders of people that it leaves', async () => {
    writeFileSync(join(home.dir, 'notes.txt'), 'mine');
    const exports = join(dir, 'exports');
    mkdirSync(exports);
    expect(await runReset({ EXPORT_DIR: exports, SPOOL_DIR: join(dir, 'absent') })).toBe(0);
    expect(readdirSync(home.dir)).toEqual(['notes.txt']);
    expect(existsSync(exports)).toBe(true);
    const text = printed.join('');
    expect(text).toContain(`EXPORT_DIR ${exports} is outside`);
    expect(text).not.toContain('SPOOL_DIR');
  });
});
