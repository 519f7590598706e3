import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHost, type TestHost } from './testing/host.ts';

let host: TestHost;
let folder: string;
beforeEach(async () => {
  host = await startHost();
  folder = mkdtempSync(join(tmpdir(), 'ravand-end-'));
});
afterEach(async () => {
  await host.close();
  rmSync(folder, { recursive: true });
});

/** Runs a program that has made a Ravand; it is sent SIGTERM when it prints `ready`. */
async function run(program: string, options: object = {}) {
  const script = join(folder, `${Math.random()}.ts`);
  const source = JSON.stringify(join(import.meta.dirname, 'ravand.ts'));
  const given = JSON.stringify({ writeKey: 'w', host: host.url, ...options });
  writeFileSync(
    script,
    `import { Ravand } from ${source};\nconst ravand = new Ravand(${given});\n${program}`,
  );
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.once('data', () => child.kill('SIGTERM'));
  const printed = text(child.stdout);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.on('exit', (...exit) => resolve(exit));
  });
  return { code, signal, printed: await printed };
}

const WAITS = `setInterval(() => {}, 1000); console.log('ready');`;
const track = (event: string) => `ravand.track({ userId: 'u', event: '${event}' });\n`;
const names = () =>
  host.received.flatMap(({ body }) =>
    (body['batch'] as { event: string }[]).map(({ event }) => event),
  );

describe('SIGTERM', () => {
  it('is answered after what waits was sent', async () => {
    const slow = { flushInterval: 3_600_000 };
    expect(await run(track('a') + track('b') + WAITS, slow)).toMatchObject({ signal: 'SIGTERM' });
    expect(names()).toEqual(['a', 'b']);
  });

  it('is answered at the deadline when the host is down; the queue file keeps the rest', async () => {
    const queueFile = join(folder, 'queue');
    host.otherwise = () => 'drop';
    const options = { queueFile, flushOnTermination: 300, flushInterval: 3_600_000 };
    expect(await run(track('a') + WAITS, options)).toMatchObject({ signal: 'SIGTERM' });
    host.otherwise = () => ({ status: 200, body: { status: 'ok' } });
    host.received.length = 0;
    await run('await ravand.close();', { queueFile });
    expect(names()).toEqual(['a']);
  });

  it('of a program with several of them waits for all', async () => {
    const other = `const other = new Ravand({ writeKey: 'w2', host: '${host.url}', flushInterval: 3_600_000 });
      other.track({ userId: 'u', event: 'b' });\n`;
    host.otherwise = ({ headers }) =>
      headers.authorization === 'Bearer w2' && host.received.length < 4
        ? { status: 503, headers: { 'retry-after': '0' } }
        : { status: 200, body: { status: 'ok' } };
    const ended = await run(track('a') + other + WAITS, { flushInterval: 3_600_000 });
    expect(ended.signal).toBe('SIGTERM');
    expect(names().at(-1)).toBe('b');
    expect(names()).toContain('a');
  });

  it('belongs to a program that listens for it', async () => {
    const own = `process.on('SIGTERM', async () => { await ravand.close(); process.exit(3); });\n`;
    expect(await run(own + track('a') + WAITS)).toMatchObject({ code: 3, signal: null });
    expect(names()).toEqual(['a']);
  });
});

it('a program that has nothing left to do sends what waits before it ends', async () => {
  host.next.push('drop');
  expect(await run(track('a'))).toMatchObject({ code: 0, signal: null });
  expect(names()).toEqual(['a', 'a']);
});

it('a program that fails keeps its last calls in the queue file', async () => {
  const queueFile = join(folder, 'queue');
  const failing = `${track('a')}process.on('uncaughtException', () => process.exit(1)); throw new Error('x');`;
  expect(await run(failing, { queueFile, flushInterval: 3_600_000 })).toMatchObject({ code: 1 });
  await run('await ravand.close();', { queueFile });
  expect(names()).toEqual(['a']);
});
