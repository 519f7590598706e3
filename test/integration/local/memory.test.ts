import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readJsonFile } from '../../../cli/json-file.ts';
import { homeOf } from '../../../cli/stack/home.ts';
import type { ProcessIdentity } from '../../../cli/stack/process-identity.ts';
import { freePort } from '../../support/service-process.ts';

const LIMIT_BYTES = 2e9;
const CHECKOUT = join(import.meta.dirname, '../../..');

const dir = mkdtempSync(join(tmpdir(), 'ravand-memory-'));
const home = homeOf({ checkout: CHECKOUT, env: { RAVAND_HOME: dir } });
const env: NodeJS.ProcessEnv = { ...process.env, RAVAND_HOME: dir };

/** Runs `./ravand …` on a stack of this test's own: the one under test has done other work. */
async function ravand(...args: string[]): Promise<void> {
  await promisify(execFile)(join(CHECKOUT, 'ravand'), args, { env, timeout: 120_000 });
}

/**
 * Resident memory of each process of the stack, bytes; a page that several processes share counts
 * in parts (PSS), so that the sum is what the stack takes of the machine.
 */
function memoryOfProcesses(): Record<string, number> {
  const supervisor = readJsonFile<ProcessIdentity>(home.supervisorFile);
  const processes = readJsonFile<Record<string, ProcessIdentity>>(home.processesFile);
  const all = Object.entries({ ...processes, ...(supervisor ? { supervisor } : {}) });
  return Object.fromEntries(
    all.map(([name, { pid }]) => {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      return [name, Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? Number.NaN) * 1024];
    }),
  );
}

describe.runIf(process.platform === 'linux')('a whole stack', () => {
  beforeAll(async () => {
    for (const name of ['HTTP_ADDR', 'PUBLIC_API_ADDR', 'PANEL_ADDR'])
      env[name] = `127.0.0.1:${await freePort()}`;
    await ravand('up', '--detach');
  }, 120_000);
  afterAll(async () => {
    await ravand('down');
    rmSync(dir, { recursive: true, force: true });
  }, 60_000);

  it('takes at most 2 GB, before and after the demo', async () => {
    const before = memoryOfProcesses();
    expect(Object.keys(before).length).toBeGreaterThan(16);
    expect(sum(before), JSON.stringify(before)).toBeLessThan(LIMIT_BYTES);
    await ravand('demo');
    const after = memoryOfProcesses();
    expect(sum(after), JSON.stringify(after)).toBeLessThan(LIMIT_BYTES);
  }, 120_000);
});

function sum(memory: Record<string, number>): number {
  return Object.values(memory).reduce((total, bytes) => total + bytes, 0);
}
