import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const CHECKOUT = join(import.meta.dirname, '../../..');
/** What `./ravand` calls until it has chosen a Node; nothing else is on its PATH. */
const TOOLS =
  'bash cat cut dirname env flock head id mkdir mv paste readlink rm sed sha256sum sort tail tr uname';

describe('./ravand with the Node of the machine', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'ravand-node-'));
    for (const folder of ['bin', 'include/node', 'checkout/deploy/local/kafka'])
      mkdirSync(join(dir, folder), { recursive: true });
    writeFileSync(join(dir, 'include/node/node_api.h'), '');
    for (const file of ['ravand', 'package-lock.json', 'deploy/local/kafka/pom.xml'])
      cpSync(join(CHECKOUT, file), join(dir, 'checkout', file));
    for (const tool of TOOLS.split(' ')) {
      const { stdout } = spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' });
      symlinkSync(stdout.trim(), join(dir, 'bin', tool));
    }
    for (const tool of ['g++', 'make', 'python3', 'npm']) script(tool, 'exit 1');
    script('sleep', ':');
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const script = (name: string, body: string) => {
    const path = join(dir, 'bin', name);
    writeFileSync(path, `#!/bin/sh\n${body}\n`);
    chmodSync(path, 0o755);
  };
  /** What it says with a Node of that version; npm fails, so that nothing is fetched. */
  const outputWith = (version: string): string => {
    script('node', `echo v${version}-linux-x64`);
    const { stderr } = spawnSync(join(dir, 'checkout/ravand'), ['status'], {
      encoding: 'utf8',
      env: { PATH: join(dir, 'bin'), HOME: dir, XDG_CACHE_HOME: join(dir, 'cache') },
      timeout: 20_000,
    });
    return stderr;
  };

  it.each(['20.19.4', '24.6.0'])('replaces %s, which has no crypto.argon2', (version) => {
    expect(outputWith(version)).toContain('Node.js 24 failed');
  });

  it.each(['24.7.0', '25.0.0'])('uses %s', (version) => {
    const output = outputWith(version);
    expect(output).not.toContain('Node.js 24');
    expect(output).toContain('npm packages');
  });
});
