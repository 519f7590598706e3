import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Quarantine, refusedName } from './quarantine.ts';

let folder: string;
const path = () => join(folder, 'quarantine');

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ravand-quarantine-'));
});

afterEach(() => rm(folder, { recursive: true }));

const piece = (name: string, size: number) => ({ name, bytes: Buffer.alloc(size, name) });

describe('the quarantine', () => {
  it('has a piece when it says so, after a write that failed too', async () => {
    const quarantine = new Quarantine({ folder: path(), maxBytes: 100 });
    await writeFile(path(), 'no folder');
    await expect(quarantine.keep(piece('a', 10))).rejects.toMatchObject({
      reason: 'quarantine_unwritable',
    });
    expect([quarantine.found, quarantine.bytes]).toEqual([0, 0]);
    await rm(path());
    await quarantine.keep(piece('a', 10));
    expect([quarantine.found, quarantine.bytes]).toEqual([1, 10]);
    expect(await readdir(path())).toEqual(['a']);
    expect(await readFile(join(path(), 'a'), 'latin1')).toBe('aaaaaaaaaa');
  });

  it('refuses a piece that it has no room for, until an operator made room', async () => {
    const quarantine = new Quarantine({ folder: path(), maxBytes: 100 });
    await quarantine.keep(piece('a', 60));
    await expect(quarantine.keep(piece('b', 60))).rejects.toMatchObject({
      reason: 'quarantine_full',
    });
    expect(await readdir(path())).toEqual(['a']);
    await rm(join(path(), 'a'));
    await quarantine.keep(piece('b', 60));
    expect([quarantine.found, quarantine.bytes]).toEqual([2, 60]);
  });

  it('counts what earlier processes left, and keeps the same piece once', async () => {
    await mkdir(path());
    await writeFile(join(path(), 'a'), Buffer.alloc(60));
    const quarantine = new Quarantine({ folder: path(), maxBytes: 100 });
    await quarantine.measure();
    expect([quarantine.found, quarantine.bytes]).toEqual([0, 60]);
    await quarantine.keep(piece('b', 30));
    await quarantine.keep(piece('b', 30));
    expect([quarantine.found, quarantine.bytes]).toEqual([1, 90]);
  });

  it('counts the refused records, also those of the process before', async () => {
    const open = async () => {
      const quarantine = new Quarantine({ folder: path(), maxBytes: 1000 });
      await quarantine.measure();
      return quarantine;
    };
    const first = await open();
    await first.keep(piece('damaged', 1));
    expect(await first.countRefused()).toBe(0);
    await first.keep(piece(refusedName('s', 0), 1));
    await first.keep(piece(refusedName('s', 9), 1));
    expect(await first.countRefused()).toBe(2);
    const second = await open();
    expect(await second.countRefused()).toBe(2);
    await second.remove(refusedName('s', 0));
    // An operator removes the other one.
    await rm(join(path(), refusedName('s', 9)));
    expect([await second.countRefused(), await first.countRefused()]).toEqual([0, 0]);
  });
});
