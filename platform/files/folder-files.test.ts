import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { FileMissing, folderFiles } from './folder-files.ts';

describe('folderFiles', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ravand-exports-'));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('makes a file visible when it is complete, and removes a failed write', async () => {
    const files = folderFiles(join(folder, 'deep'));
    const { signal } = new AbortController();
    await files.write('a.csv', Readable.from([Buffer.from('x')]), signal);
    expect(readFileSync(join(folder, 'deep/a.csv'), 'utf8')).toBe('x');
    expect(await text(await files.read('a.csv'))).toBe('x');
    await expect(files.read('b.csv')).rejects.toThrow(FileMissing);
    expect(await files.freeBytes()).toBeGreaterThan(0);
    writeFileSync(join(folder, 'deep/c.csv.part'), '');
    expect((await files.list()).sort()).toEqual(['a.csv', 'c.csv']);
    await files.remove('c.csv');
    const breaking = new Readable({
      read() {
        this.destroy(new Error('cut'));
      },
    });
    await expect(files.write('b.csv', breaking, signal)).rejects.toThrow('cut');
    expect(readdirSync(join(folder, 'deep'))).toEqual(['a.csv']);
    await files.remove('a.csv');
    await files.remove('a.csv');
    expect(readdirSync(join(folder, 'deep'))).toEqual([]);
  });
});
