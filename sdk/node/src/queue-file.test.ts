import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openQueueFile } from './queue-file.ts';
import type { Waiting } from './queue.ts';
import type { RavandError } from './types.ts';

let folder: string;
let path: string;
let failures: RavandError[];
const open = (at = path) => {
  const own = failures;
  return openQueueFile(at, (error) => own.push(error));
};
const event = (id: string, bytes = 0): Waiting => ({
  id,
  json: JSON.stringify({ message_id: id, filler: 'ک'.repeat(bytes / 2) }),
  attemptedAt: undefined,
});
const idsOf = (events: readonly Waiting[]) => events.map(({ id }) => id);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'queue-file-'));
  path = join(folder, 'queue');
  failures = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What the next process finds. */
async function foundLater(): Promise<Waiting[]> {
  const { store, found } = open();
  await store.close();
  return found;
}

describe('a queue file', () => {
  it('gives the next process what waits, and when it was sent first', async () => {
    const { store, found } = open();
    expect(found).toEqual([]);
    for (const id of ['a', 'b', 'c']) store.append(event(id));
    await store.attempted([event('a'), event('b')], 17);
    store.remove([event('b')]);
    await store.close();
    expect(await foundLater()).toEqual([{ ...event('a'), attemptedAt: 17 }, event('c')]);
  });

  it('has a call 50 ms after it, without anything that waits for it', async () => {
    const { store } = open();
    store.append(event('a'));
    await expect.poll(() => readFileSync(path, 'utf8')).toContain('"a"');
    await store.close();
  });

  it('cut by a crash at each of its bytes has every call that was durable', async () => {
    const { store } = open();
    const durable: [bytes: number, ids: string[]][] = [[statSync(path).size, []]];
    for (const id of ['a', 'ب', 'c']) {
      store.append(event(id));
      await store.attempted([], 0);
      durable.push([statSync(path).size, [...(durable.at(-1)?.[1] ?? []), id]]);
    }
    await store.close();
    const whole = join(folder, 'whole');
    copyFileSync(path, whole);
    for (let bytes = 0; bytes <= statSync(whole).size; bytes++) {
      copyFileSync(whole, path);
      truncateSync(path, bytes);
      const least = durable.findLast(([size]) => size <= bytes)?.[1] ?? [];
      const found = idsOf(await foundLater());
      expect(found.slice(0, least.length)).toEqual(least);
      expect(found.length).toBeLessThanOrEqual(least.length + 1);
    }
  });

  it('goes on after a torn last line, and says so', async () => {
    const first = open();
    first.store.append(event('a'));
    await first.store.close();
    appendFileSync(path, '["e","b","{\\"x');
    const second = open();
    expect(idsOf(second.found)).toEqual(['a']);
    second.store.append(event('c'));
    await second.store.close();
    expect(idsOf(await foundLater())).toEqual(['a', 'c']);
    expect(failures.map(({ code, message }) => [code, message])).toEqual([
      ['queue_file', `${path}: 1 damaged lines were left out`],
    ]);
  });

  it('is written anew when it is mostly of what is complete, and loses nothing', async () => {
    const { store } = open();
    store.append(event('kept'));
    for (let round = 0; round < 12; round++) {
      const batch = [event(`r${round}`, 1024 * 1024)];
      for (const one of batch) store.append(one);
      await store.attempted(batch, round + 1);
      store.remove(batch);
    }
    await store.attempted([event('kept')], 99);
    expect(statSync(path).size).toBeLessThan(8 * 1024 * 1024);
    store.append(event('last'));
    await store.close();
    const found = await foundLater();
    expect(found).toEqual([{ ...event('kept'), attemptedAt: 99 }, event('last')]);
    expect(statSync(path).size).toBeLessThan(1000);
  });

  it('has, when the process exits, what was given in the last moment', async () => {
    const script = join(folder, 'exits.ts');
    const source = join(import.meta.dirname, 'queue-file.ts');
    writeFileSync(
      script,
      `import { openQueueFile } from ${JSON.stringify(source)};
       const { store } = openQueueFile(process.argv[2], () => {});
       store.append({ id: 'a', json: '{}' });
       void store.attempted([], 0);
       store.append({ id: 'b', json: '{}' });
       process.on('exit', () => store.exit());
       process.exit(0);`,
    );
    expect(spawnSync(process.execPath, [script, path]).status).toBe(0);
    expect(idsOf(await foundLater())).toEqual(['a', 'b']);
  });
});

describe('the lock of a queue file', () => {
  it('keeps out a second user', async () => {
    const { store } = open();
    expect(() => open()).toThrow(
      expect.objectContaining({
        code: 'queue_file',
        message: `${path}.lock: another process uses it`,
      }),
    );
    await store.close();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it.each<[string, () => string]>([
    ['a process that died', () => `${hostname()} ${deadProcess()} 1`],
    ['another process that had its number', () => `${hostname()} ${process.pid} 1`],
    ['a process whose number another one has now', () => `${hostname()} 1 -1`],
    ['a damaged file', () => ''],
  ])('of %s is taken over', async (_, content) => {
    writeFileSync(`${path}.lock`, content());
    if (content() === '') age(`${path}.lock`);
    expect(await foundLater()).toEqual([]);
  });

  it('of another machine is taken over when it shows no life for 20 seconds', async () => {
    writeFileSync(`${path}.lock`, 'other 1 1');
    expect(() => open()).toThrow(/another process uses it/);
    age(`${path}.lock`);
    expect(await foundLater()).toEqual([]);
  });

  it('is left when the queue cannot be read', () => {
    const directory = join(folder, 'directory');
    expect(() => open(join(directory, 'missing', 'queue'))).toThrow();
    expect(existsSync(join(directory, 'missing', 'queue.lock'))).toBe(false);
  });
});

const deadProcess = (): number => spawnSync(process.execPath, ['-e', '']).pid;

function age(file: string): void {
  const then = new Date(Date.now() - 21_000);
  utimesSync(file, then, then);
}
