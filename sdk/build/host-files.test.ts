import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildHostFiles, type HostFile } from './host-files.ts';
import { checkSizes } from './sizes.ts';

const folder = mkdtempSync(join(tmpdir(), 'ravand-built-'));
let files: HostFile[];
beforeAll(async () => {
  files = await buildHostFiles(folder, 'source');
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

const text = (name: string) => readFileSync(join(folder, name), 'utf8');

it('the SDK is within its budgets', () => {
  expect(checkSizes(files)).toHaveLength(2);
});

it('the core loads files that are there, each with its source map', () => {
  const { release } = JSON.parse(text('manifest.json')) as { release: string };
  expect(text('v1.js')).toContain(`.${release}.js`);
  expect(files.map(({ name }) => name)).toEqual([
    ...['v1.js', 'worker.js'],
    ...['onsite', 'inbox', 'web-push'].map((name) => `${name}.${release}.js`),
  ]);
  for (const { name } of files) {
    // A path would make another release of every folder in which it is built.
    expect(text(name)).not.toMatch(/sdk\/browser|\n /);
    const { sources } = JSON.parse(text(`${name}.map`)) as { sources: string[] };
    expect(sources.length).toBeGreaterThan(0);
  }
});

it('the core has none of what is loaded on demand', () => {
  expect(text('v1.js')).not.toMatch(/attachShadow|pushManager|user_hash/);
});
