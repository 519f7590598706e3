import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pythonTools } from '../tools/python-tools.ts';

const FILE = join(import.meta.dirname, 'Dockerfile');
/** With the download of hadolint. */
const INSTALL_MS = 300_000;

it(
  'the Dockerfile has no finding of hadolint',
  async () => {
    const args = ['--failure-threshold', 'style', FILE];
    const { stdout, status } = spawnSync('hadolint', args, {
      ...{ env: await pythonTools(), encoding: 'utf8' },
    });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  },
  INSTALL_MS,
);

it('the image runs as nobody, and is built from pinned versions', () => {
  const text = readFileSync(FILE, 'utf8');
  expect(text).toMatch(/^USER 10001:10001$/m);
  expect(text).toMatch(/^ARG NODE_IMAGE=node:\d+\.\d+\.\d+-[a-z]+-slim$/m);
  expect(text).toContain('npm ci --omit=dev --omit=optional');
});
