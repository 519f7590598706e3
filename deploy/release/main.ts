import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { planRelease, reproducible, withVersion } from './plan.ts';

/**
 * `node deploy/release/main.ts VERSION YYYY-MM-DD`, in a clean checkout: makes the unreleased
 * entries of CHANGELOG.md those of the version, names it where versions are named, and writes
 * release/notes.md and release/sbom.json. Then commits and tags `vVERSION`; pushes nothing.
 */
const checkout = resolve(process.cwd());
const [version = '', date = ''] = process.argv.slice(2);
const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, {
    ...{ cwd: checkout, maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'pipe'] },
  }).toString();
const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
const write = (path: string, text: string) => writeFileSync(join(checkout, path), text);

/** Where the version is named, and what stands before and after it. */
const NAMED: readonly [string, RegExp][] = [
  ['package.json', /^( {2}"version": ")[^"]+(")/m],
  ['package-lock.json', /^( {2}"version": ")[^"]+(")/m],
  ['package-lock.json', /^( {6}"version": ")[^"]+(")/m],
  ['deploy/helm/ravand/Chart.yaml', /^(version: ).+()$/m],
  ['deploy/helm/ravand/Chart.yaml', /^(appVersion: ).+()$/m],
];

try {
  if (run('git', 'status', '--porcelain').trim() !== '')
    throw new Error('commit or remove what is not committed first');
  const { name, version: current } = JSON.parse(read('package.json')) as Record<string, string>;
  const changelog = read('CHANGELOG.md');
  const release = planRelease({ changelog, current: current ?? '', version, date });
  write('CHANGELOG.md', release.changelog);
  for (const [path, pattern] of NAMED) write(path, withVersion(read(path), pattern, version));
  mkdirSync(join(checkout, 'release'), { recursive: true });
  write('release/notes.md', `${release.notes}\n`);
  const omit = ['--omit=dev', '--omit=optional', '--package-lock-only'];
  const sbom = run('npm', 'sbom', '--sbom-format=cyclonedx', ...omit);
  const bom = reproducible(JSON.parse(sbom) as Parameters<typeof reproducible>[0], name ?? '');
  write('release/sbom.json', `${JSON.stringify(bom, null, 2)}\n`);
  run('git', 'add', '--all', 'CHANGELOG.md', 'release', ...new Set(NAMED.map(([path]) => path)));
  run('git', 'commit', '--quiet', '--message', `Release ${version}`);
  run('git', 'tag', '--annotate', `v${version}`, '--cleanup=verbatim', '--message', release.notes);
  console.log(
    `v${version} is tagged: push it, and build the image with COMMIT=$(git rev-parse HEAD)`,
  );
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
