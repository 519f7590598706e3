import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPanelFiles, type PanelFiles } from './files.ts';

const script = 'export const a = 1;\n';
let folder: string;
let files: PanelFiles;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'panel-files-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'assets/a-hash.js'), script);
  await writeFile(join(folder, 'assets/a-hash.js.gz'), gzipSync(script));
  await writeFile(join(folder, 'favicon.svg'), '<svg/>');
  await writeFile(join(folder, 'manifest.json'), '{}');
  files = readPanelFiles(folder);
});
afterAll(() => rm(folder, { recursive: true }));

describe('a built file', () => {
  it('with a hash in its name is kept by browsers for good, another one for an hour', () => {
    expect(files.answer('/assets/a-hash.js', {})?.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect(files.answer('/favicon.svg', {})?.headers?.['cache-control']).toBe(
      'public, max-age=3600',
    );
  });

  it('is compressed for whoever accepts that', () => {
    const compressed = files.answer('/assets/a-hash.js', { 'accept-encoding': 'gzip, deflate' });
    expect(compressed?.headers?.['content-encoding']).toBe('gzip');
    const plain = files.answer('/assets/a-hash.js', { 'accept-encoding': 'gzip;q=0' });
    expect([plain?.headers?.['content-encoding'], String(plain?.body)]).toEqual([
      undefined,
      script,
    ]);
  });

  it('that the browser has is not sent again', () => {
    const etag = files.answer('/assets/a-hash.js', {})?.headers?.['etag'];
    const again = files.answer('/assets/a-hash.js', { 'if-none-match': String(etag) });
    expect([again?.status, again?.body]).toEqual([304, undefined]);
  });

  it.each(['/manifest.json', '/../package.json', '/assets/../favicon.svg', '/assets'])(
    'is not at %s',
    (path) => {
      expect(files.answer(path, {})).toBeUndefined();
    },
  );
});

it('a folder that does not exist is a panel without files', () => {
  expect(readPanelFiles(join(folder, 'none')).documents).toBeUndefined();
});
