import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planOf } from '../../../sdk/node/src/schema/plan.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const project = mkdtempSync(join(tmpdir(), 'ravand-consumer-'));

/** A project of somebody else that has installed both packages. */
beforeAll(() => {
  const command = [join(CHECKOUT, 'cli/main.ts'), 'sdk', project];
  const files = execFileSync(process.execPath, command, { encoding: 'utf8' }).trim().split('\n');
  expect(files).toEqual(
    ['browser', 'node'].map((name) => join(project, `ravand-${name}-1.0.0.tgz`)),
  );
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  const options = ['--offline', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...options, ...files], { cwd: project });
  symlinkSync(join(CHECKOUT, 'node_modules/@types'), join(project, 'node_modules/@types'));
});
afterAll(() => rmSync(project, { recursive: true }));

/** What the compiler reports of these files; it checks the declarations of the packages, too. */
function compile(files: Record<string, string>, options: object = {}): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  const compilerOptions = {
    ...{ strict: true, noEmit: true, target: 'es2022', module: 'nodenext' },
    ...{ exactOptionalPropertyTypes: true, lib: ['es2022', 'dom', 'dom.iterable'] },
    ...{ types: ['node'], skipLibCheck: false, ...options },
  };
  const config = { compilerOptions, files: Object.keys(files) };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  try {
    execFileSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

const USE = `
import ravand, { type LoadOptions } from '@ravand/browser';
import { segmentAnalytics } from '@ravand/browser/segment';
import { Ravand, RavandError, RavandMessages } from '@ravand/node';

const options: LoadOptions = { consent: 'pending' };
const id: string = ravand.load('k', options).track('order_completed', { order_id: 1 });
ravand.on('rejected', ({ ids, reason }) => console.log(ids.length, reason.length, id));
segmentAnalytics(ravand).track('order_completed', { order_id: 1 });
new Ravand({ writeKey: 'k', host: 'h' }).track({ userId: 'u', event: 'order_completed' });
export const send = new RavandMessages({ managementKey: 'k', host: 'h' }).send;
export const isOurs = (error: unknown) => error instanceof RavandError && error.code === 'timeout';
`;

describe('a program that has installed the packages', () => {
  it.each([['nodenext'], ['esnext']])('compiles as %s', (module) => {
    const resolution = module === 'esnext' ? { moduleResolution: 'bundler' } : {};
    expect(compile({ 'use.ts': USE }, { module, ...resolution })).toBe('');
  });

  it('with a tracking plan cannot misspell an event or a property', () => {
    const events = [{ name: 'order_completed', prop_keys: ['order_id', 'total'] }];
    const plan = planOf(events, { source: 's', isOpen: false });
    const wrong = `
import ravand from '@ravand/browser';
import { Ravand } from '@ravand/node';
ravand.track('order_complete');
ravand.track('order_completed', { orderId: 1 });
new Ravand({ writeKey: 'k', host: 'h' }).track({ userId: 'u', event: 'orders' });
new Ravand({ writeKey: 'k', host: 'h' }).track({ userId: 'u', event: 'order_completed', properties: { x: 1 } });
`;
    expect(compile({ 'plan.d.ts': plan, 'use.ts': USE })).toBe('');
    const reported = compile({ 'plan.d.ts': plan, 'wrong.ts': wrong });
    expect([...reported.matchAll(/wrong\.ts\((\d+),/g)].map(([, line]) => Number(line))).toEqual([
      4, 5, 6, 7,
    ]);
    const open = planOf(events, { source: 's', isOpen: true });
    const other = `import ravand from '@ravand/browser'; ravand.track('anything', { x: 1 });`;
    expect(compile({ 'plan.d.ts': open, 'other.ts': other })).toBe('');
  });

  it('must name whose event it is', () => {
    const wrong = `import { Ravand } from '@ravand/node';
new Ravand({ writeKey: 'k', host: 'h' }).track({ event: 'e' });`;
    expect(compile({ 'wrong.ts': wrong })).toMatch(/wrong\.ts\(2,/);
  });

  it('runs with what Node loads', () => {
    const script = join(project, 'run.js');
    writeFileSync(
      script,
      `import { Ravand } from '@ravand/node'; import ravand from '@ravand/browser';
       console.log(typeof Ravand, typeof ravand.load, ravand.track('early').length);`,
    );
    expect(execFileSync(process.execPath, [script], { encoding: 'utf8' })).toBe(
      'function function 36\n',
    );
  });

  it('that calls nothing has nothing of the SDK in its bundle', async () => {
    const entry = join(project, 'entry.js');
    writeFileSync(entry, `import ravand from '@ravand/browser'; export const one = 1;`);
    const [result] = (await build({
      root: project,
      configFile: false,
      logLevel: 'silent',
      build: { write: false, lib: { entry, formats: ['es'] } },
    })) as Rolldown.RolldownOutput[];
    expect(result?.output[0].code.length).toBeLessThan(100);
  });
});

it.each([
  [
    'browser',
    ['README.md', 'dist/index.js', 'dist/index.js.map', 'dist/ravand.js', 'snippet.html'],
  ],
  ['node', ['README.md', 'dist/index.js', 'dist/index.js.map', 'dist/schema.js']],
])('the package %s has its files, and no sources of tests', (name, expected) => {
  const folder = join(CHECKOUT, 'sdk', name);
  const options = { cwd: folder, encoding: 'utf8' as const };
  const [pack] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json'], options)) as {
    files: { path: string }[];
  }[];
  const paths = pack?.files.map(({ path }) => path) ?? [];
  expect(paths).toEqual(expect.arrayContaining(['package.json', ...expected]));
  expect(paths.filter((path) => /test|\.tsbuildinfo|^src/.test(path))).toEqual([]);
});
