import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const PLATFORM = import.meta.dirname;

/** Runs a service whose start is this body, and sends SIGTERM once it prints "ready". */
async function runBody(body: string, env: NodeJS.ProcessEnv = {}) {
  const file = join(mkdtempSync(join(tmpdir(), 'run-service-')), 'main.ts');
  writeFileSync(
    file,
    `import { runService } from ${JSON.stringify(join(PLATFORM, 'run-service.ts'))};
     import { processSettings } from ${JSON.stringify(join(PLATFORM, 'settings-common.ts'))};
     await runService({ name: 'a-service', settings: processSettings, start: async (context) => {
       const { onShutdown, log } = context;
       ${body}
     } });`,
  );
  const child = spawn(process.execPath, [file], { env: { ...process.env, ...env } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data: Buffer) => {
    out += data.toString();
    if (out.includes('"ready"')) child.kill('SIGTERM');
  });
  child.stderr.on('data', (data: Buffer) => (err += data.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}

describe('running a service', () => {
  it('answers a setting that cannot be read with a sentence and exit code 2', async () => {
    const { code, err } = await runBody('', { SHUTDOWN_TIMEOUT: 'soon' });
    expect(code).toBe(2);
    expect(err).toMatch(/^a-service cannot start: .*\n {2}SHUTDOWN_TIMEOUT=soon: expected/);
  });

  it('runs the shutdown steps after a failed start and exits with 1', async () => {
    const { code, out, err } = await runBody(
      `onShutdown('client', async () => log.info('client closed'));
       throw new Error('no broker');`,
    );
    expect(code).toBe(1);
    expect(err).toContain('a-service cannot start: no broker\n');
    expect(out).toContain('"code":"crashed"');
    expect(out).toContain('client closed');
  });

  it('closes the admin port and the steps in reverse order on SIGTERM', async () => {
    const { code, out } = await runBody(
      `onShutdown('first', async () => log.info('first closed'));
       const admin = await context.openAdminPort({ notReady: () => [] });
       onShutdown('last', async () => log.info('last closed ' + (admin.port > 0)));
       log.info('ready');`,
    );
    expect(code).toBe(0);
    expect(out.indexOf('last closed true')).toBeGreaterThan(0);
    expect(out.indexOf('first closed')).toBeGreaterThan(out.indexOf('last closed'));
  });

  it('ends with 0 when SIGTERM interrupts a start that waits for a server', async () => {
    const { code, err } = await runBody(
      // The interval keeps the process alive, as sockets of waiting clients do.
      `setInterval(() => undefined, 1000);
       setTimeout(() => log.info('ready'), 50);
       await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(new Error('aborted'))));`,
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });
});
