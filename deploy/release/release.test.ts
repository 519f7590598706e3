import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { planRelease } from './plan.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const CHANGELOG = `# Changelog

Newest first.

## Unreleased

### Added

- A thing.

## 0.1.0 (2026-01-01)

- The beginning.
`;
const of = (changes: Partial<Parameters<typeof planRelease>[0]>) =>
  planRelease({
    ...{ changelog: CHANGELOG, current: '0.1.0', version: '0.2.0', date: '2026-11-23' },
    ...changes,
  });

describe('a release', () => {
  it('takes the unreleased entries and leaves the heading for the next ones', () => {
    const { changelog, notes } = of({});
    expect(notes).toBe('### Added\n\n- A thing.');
    expect(changelog).toBe(
      CHANGELOG.replace('## Unreleased\n', '## Unreleased\n\n## 0.2.0 (2026-11-23)\n'),
    );
    expect(() => of({ changelog, current: '0.2.0', version: '0.3.0' })).toThrow('no entry');
  });

  it.each([
    ['0.1.0', 'does not follow'],
    ['0.0.9', 'does not follow'],
    ['1.0', 'is no version'],
    ['1.0.0-rc.1', 'is no version'],
  ])('refuses the version %s', (version, problem) => {
    expect(() => of({ version })).toThrow(problem);
    expect(of({ version: '0.1.1' }).notes).toContain('A thing');
  });

  it('refuses a changelog without the heading, and a date that is none', () => {
    expect(() => of({ changelog: '# Changelog\n' })).toThrow('no heading');
    expect(() => of({ date: '23 Nov' })).toThrow('is no date');
  });
});

describe('node deploy/release/main.ts', () => {
  const folders: string[] = [];
  afterAll(() => Promise.all(folders.map((one) => rm(one, { recursive: true, force: true }))));

  async function repository(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'ravand-release-'));
    folders.push(folder);
    for (const path of ['package.json', 'package-lock.json', 'deploy/helm/ravand/Chart.yaml']) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      cpSync(join(CHECKOUT, path), join(folder, path));
    }
    writeFileSync(join(folder, 'CHANGELOG.md'), CHANGELOG);
    const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env: GIT });
    git('init', '--quiet');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'first');
    return folder;
  }
  const name = { GIT_AUTHOR_NAME: 'test', GIT_COMMITTER_NAME: 'test' };
  const address = { GIT_AUTHOR_EMAIL: 'test@example.com', GIT_COMMITTER_EMAIL: 'test@example.com' };
  const GIT = { ...process.env, ...name, ...address };
  const release = (folder: string, ...args: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
      ...{ cwd: folder, env: GIT, encoding: 'utf8' },
    });

  it('names the version everywhere, with notes, a bill of materials and a tag; twice the same bytes', async () => {
    const found = [];
    for (const folder of [await repository(), await repository()]) {
      const { status, stderr } = release(folder, '7.1.0', '2026-11-23');
      expect(stderr).toBe('');
      expect(status).toBe(0);
      const read = (path: string) => readFileSync(join(folder, path), 'utf8');
      expect(read('CHANGELOG.md')).toContain('## 7.1.0 (2026-11-23)');
      expect(JSON.parse(read('package.json'))).toMatchObject({ version: '7.1.0' });
      expect(JSON.parse(read('package-lock.json'))).toMatchObject({
        ...{ version: '7.1.0', packages: { '': { version: '7.1.0' } } },
      });
      const chart = read('deploy/helm/ravand/Chart.yaml');
      expect(chart).toMatch(/^version: 7\.1\.0\nappVersion: 7\.1\.0$/m);
      const git = (...args: string[]) => execFileSync('git', args, { cwd: folder }).toString();
      expect(git('tag', '--list', '--format=%(contents)', 'v7.1.0')).toContain('- A thing.');
      expect(git('status', '--porcelain')).toBe('');
      found.push(read('release/sbom.json'));
    }
    expect(found[0]).toBe(found[1]);
    const bom = JSON.parse(found[0] ?? '') as {
      bomFormat: string;
      metadata: { component: { version: string } };
      components: { name: string }[];
    };
    const names = bom.components.map((one) => one.name);
    expect(bom).toMatchObject({
      ...{ bomFormat: 'CycloneDX', metadata: { component: { name: 'ravand', version: '7.1.0' } } },
    });
    expect(names).toEqual(expect.arrayContaining(['node-rdkafka', 'fastify']));
    expect(names).not.toContain('vitest');
    expect(names).not.toContain('chdb');
  });

  it('changes nothing in a checkout with changes, or when the version does not follow', async () => {
    const folder = await repository();
    expect(release(folder, '0.0.1', '2026-11-23').stderr).toContain('does not follow');
    writeFileSync(join(folder, 'new'), '');
    const { status, stderr } = release(folder, '7.1.0', '2026-11-23');
    expect([status, stderr.trim()]).toEqual([1, 'commit or remove what is not committed first']);
  });
});
