import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVICES } from '../../schemas/topology.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const COMMIT = '0123456789abcdef0123456789abcdef01234567';
/** Nobody, as in the Dockerfile; only root can become another user. */
const USER = process.getuid?.() === 0 ? { uid: 10001, gid: 10001 } : {};
const TIMEOUT_MS = 240_000;

interface Lock {
  packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
}

/** What `npm ci --omit=dev --omit=optional` installs. */
function production(): string[] {
  const lock = JSON.parse(readFileSync(join(CHECKOUT, 'package-lock.json'), 'utf8')) as Lock;
  return Object.entries(lock.packages).flatMap(([path, { dev, optional, devOptional }]) =>
    path === '' || dev === true || optional === true || devOptional === true ? [] : [path],
  );
}

interface Ended {
  code: number | null;
  output: string;
}

describe('the image', () => {
  let folder = '';
  let image = '';
  let node = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ravand-image-'));
    chmodSync(folder, 0o755);
    image = join(folder, 'app');
    // The other user may not read the folder of this one.
    node = join(folder, 'node');
    copyFileSync(process.execPath, node);
    chmodSync(node, 0o755);
    const script = join(import.meta.dirname, 'image-files.ts');
    execFileSync(process.execPath, [script, image, COMMIT]);
    const modules = realpathSync(join(CHECKOUT, 'node_modules'));
    for (const path of production()) {
      const from = join(dirname(modules), path);
      mkdirSync(dirname(join(image, path)), { recursive: true });
      // Packages of packages have entries of their own.
      cpSync(from, join(image, path), {
        recursive: true,
        filter: (one) => !one.slice(from.length).includes('node_modules') && !LEFT_OUT.test(one),
      });
    }
    const slim = join(import.meta.dirname, 'slim-modules.ts');
    execFileSync(process.execPath, [slim, join(image, 'node_modules')]);
  }, TIMEOUT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** With nothing but what the image has, as a user who owns nothing of it. */
  const run = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    new Promise<Ended>((resolve) => {
      const child = execFile(
        node,
        args,
        { cwd: image, env: { HOME: '/nonexistent', ...env }, timeout: TIMEOUT_MS, ...USER },
        (_, stdout, stderr) => resolve({ code: child.exitCode, output: `${stdout}${stderr}` }),
      );
    });

  it('has no tests, no local engine and no tool of developers', () => {
    for (const path of ['test', 'bench', 'deploy/helm', 'platform/deadline.test.ts', 'docs'])
      expect(existsSync(join(image, path)), path).toBe(false);
    for (const name of ['chdb', 'ffi-rs', '@electric-sql', 'vitest', 'typescript', 'smtp-server'])
      expect(existsSync(join(image, 'node_modules', name)), name).toBe(false);
    const { stdout, kib } = sizeOf(image);
    expect(kib, stdout).toBeLessThan(80 * 1024);
  });

  it('has WebAssembly as it is compiled, without the compiler and its sources', () => {
    const files = readdirSync(join(image, 'account-api/reports/many-events/wasm'));
    expect(files).toEqual(['count-events.wasm']);
    expect(existsSync(join(image, 'node_modules/assemblyscript'))).toBe(false);
  });

  it('scans bodies with WebAssembly, and has no source of it', async () => {
    const scanned = await run([
      '--input-type=module',
      '--eval',
      `import { bodyScanner } from './ingest/wasm/body-scanner.ts';
       const { scan, refusal } = bodyScanner();
       console.log(refusal, scan(Buffer.from('{"event":"x"}'), 'single').events[0].event)`,
    ]);
    expect(scanned).toEqual({ code: 0, output: 'undefined x\n' });
    expect(existsSync(join(image, 'ingest/wasm/scan-body.as.ts'))).toBe(false);
  });

  it(
    'starts every service up to its settings, as a user who cannot write',
    async () => {
      const waiting = SERVICES.filter((row) => !('isLocal' in row));
      const ended = new Map<string, Ended>();
      const worker = async () => {
        for (let row = waiting.shift(); row; row = waiting.shift())
          ended.set(row.name, await run([join(row.folder, 'main.ts')], { LOG_LEVEL: 'loud' }));
      };
      await Promise.all(Array.from({ length: availableParallelism() }, worker));
      for (const [name, { code, output }] of ended) {
        expect(output, name).toMatch(new RegExp(`^${name} cannot start: [^]*LOG_LEVEL=loud`));
        expect(code, name).toBe(2);
      }
      expect(ended.size).toBe(SERVICES.length - 1);
    },
    TIMEOUT_MS,
  );

  it(
    'has the migrations, the topics and the commands of operators',
    { timeout: TIMEOUT_MS },
    async () => {
      const server = { DATABASE_URL: 'postgres://x@127.0.0.1:1/x', KAFKA_BROKERS: '127.0.0.1:1' };
      const migrated = await run(['deploy/local/setup/migrate-postgres.ts'], server);
      expect(migrated.output).toContain('127.0.0.1:1');
      expect((await run(['cli/main.ts', 'help'])).output).toContain('./ravand archive');
      const archive = await run(['cli/main.ts', 'archive'], {
        ...server,
        RAVAND_HOME: '/nonexistent',
      });
      expect(archive.output).toContain('there is no archive: set ARCHIVE_S3_URL');
      const drained = await run(['deploy/drain/main.ts', '0', '0', '1']);
      expect(drained).toEqual({ code: 0, output: '' });
    },
  );

  it(
    'is stamped with its commit, and the same commit gives the same files',
    { timeout: TIMEOUT_MS },
    async () => {
      const version = await run([
        '--input-type=module',
        '--eval',
        "import { buildVersion } from './platform/package-version.ts'; console.log(buildVersion())",
      ]);
      expect(version.output.trim()).toMatch(/^\d+\.\d+\.\d+\+0123456789ab$/);
      const again = join(folder, 'again');
      execFileSync(process.execPath, [join(import.meta.dirname, 'image-files.ts'), again, COMMIT]);
      const differences = execFileSync('diff', ['-rq', '--exclude=node_modules', image, again]);
      expect(differences.toString()).toBe('');
    },
  );
});

/** Sources that take seconds to copy; slim-modules.ts removes them, too. */
const LEFT_OUT = /node-rdkafka\/(deps|build\/Release\/obj\.target)(\/|$)/;

function sizeOf(folder: string): { stdout: string; kib: number } {
  const stdout = execFileSync('du', ['-sk', folder]).toString();
  return { stdout, kib: Number(stdout.split('\t')[0]) };
}
