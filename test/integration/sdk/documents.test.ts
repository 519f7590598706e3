import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startHost, type TestHost } from '../../../sdk/node/src/testing/host.ts';
import { codeBlocks } from './code-blocks.ts';
import { startRecordingHost, type RecordingHost } from './recording-host.ts';
import { builtSdk, launch } from './shop.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
const DIST = join(CHECKOUT, 'sdk/browser/dist');
const folder = mkdtempSync(join(tmpdir(), 'ravand-documents-'));

let host: RecordingHost;
let browser: Browser;

beforeAll(async () => {
  const sdk = builtSdk();
  execFileSync(process.execPath, [join(CHECKOUT, 'sdk/build.ts'), '--packages', sdk]);
  host = await startRecordingHost(sdk);
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
  await host.close();
  rmSync(folder, { recursive: true });
});

it('the snippet of the page is that of the package', () => {
  const snippet = readFileSync(join(CHECKOUT, 'sdk/browser/snippet.html'), 'utf8');
  expect(codeBlocks('sdk-browser.md', 'html')).toEqual([snippet]);
});

/** Serves a page whose module is the code, and the files of the package. */
async function serve(code: string): Promise<{ url: string; close: () => void }> {
  const imports = { '@ravand/browser': '/index.js', '@ravand/browser/segment': '/segment.js' };
  const map = `<script type="importmap">${JSON.stringify({ imports })}</script>`;
  const server = createServer(({ url = '/' }, response) => {
    const isFile = url.endsWith('.js');
    response.setHeader('content-type', isFile ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(
      isFile
        ? readFileSync(join(DIST, url))
        : `<!doctype html><title>x</title>${map}<button id="button">b</button>
           <script type="module">${code}; window.isDone = true;</script>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

describe.each(['sdk-browser.md', 'sdk-from-segment.md'])('the examples of %s', (name) => {
  it.each(codeBlocks(name, 'js').map((code, at) => [at + 1, code]))('%d run', async (_, code) => {
    host.answers['/v1/inbox'] = { status: 200, body: { messages: [{ id: '1' }], unread: 1 } };
    host.events.clear();
    const values = { INGEST_HOST: host.url, WRITE_KEY: 'wk_svc_1', PUBLIC_KEY: 'AAAA' };
    const loads = code.includes('.load(') ? '' : `ravand.load('WRITE_KEY');`;
    const imported = code.includes('import ravand')
      ? ''
      : `import ravand from '@ravand/browser'; ${loads}`;
    let program = imported + code;
    program = program.replaceAll(
      /\.load\('WRITE_KEY'(?:, \{ ?)?(?!host)/g,
      (call) => `.load('WRITE_KEY', { host: 'INGEST_HOST'${call.includes('{') ? ', ' : ' }'}`,
    );
    for (const [placeholder, value] of Object.entries(values))
      program = program.replaceAll(placeholder, value);
    const site = await serve(program);
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (one) => {
      if (['error', 'assert'].includes(one.type())) problems.push(one.text());
    });
    await page.goto(site.url);
    await page.waitForFunction('window.isDone');
    await page.close();
    site.close();
    expect(problems).toEqual([]);
  });
});

/** The host that it asks is in this process. */
function run(script: string): Promise<{ stderr: string; status: number | null }> {
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'ignore', 'pipe'] });
  const printed = text(child.stderr);
  return new Promise((resolve) => {
    child.on('exit', (status) => void printed.then((stderr) => resolve({ stderr, status })));
  });
}

describe('the examples of sdk-node.md', () => {
  let server: TestHost;
  beforeAll(async () => {
    server = await startHost();
  });
  beforeEach(() => {
    server.received.length = 0;
  });
  afterAll(() => server.close());

  it.each(codeBlocks('sdk-node.md', 'ts').map((code, at) => [at + 1, code] as const))(
    '%d run',
    async (at, code) => {
      const source = join(CHECKOUT, 'sdk/node/src/index.ts');
      const script = join(folder, `example-${at}.ts`);
      const program = code
        .replaceAll('@ravand/node', source)
        .replaceAll(/(INGEST|MANAGEMENT)_HOST/g, server.url)
        .replaceAll('/tmp/ravand.queue', join(folder, 'queue'));
      writeFileSync(script, program);
      const { stderr, status } = await run(script);
      expect([stderr, status]).toEqual(['', 0]);
      expect(server.received.length).toBeGreaterThan(0);
    },
  );
});
