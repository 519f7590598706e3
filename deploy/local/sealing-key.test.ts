import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSealingKeys } from '../../platform/sealing.ts';
import { ensureSealingKey, sealingEnv } from './sealing-key.ts';

describe('the sealing key of a home', () => {
  let home: { sealingKeyFile: string };
  beforeEach(() => {
    home = { sealingKeyFile: join(mkdtempSync(join(tmpdir(), 'ravand-key-')), 'sealing-key') };
  });
  afterEach(() => rmSync(join(home.sealingKeyFile, '..'), { recursive: true }));

  it('is made once, readable by its owner only', () => {
    ensureSealingKey(home);
    const first = readFileSync(home.sealingKeyFile, 'utf8');
    ensureSealingKey(home);
    expect(readFileSync(home.sealingKeyFile, 'utf8')).toBe(first);
    expect(statSync(home.sealingKeyFile).mode & 0o777).toBe(0o600);
    expect(parseSealingKeys(first)).toBeDefined();
  });

  it('is passed to services unless the environment sets one', () => {
    expect(sealingEnv(home, {})).toEqual({});
    writeFileSync(home.sealingKeyFile, 'local:x\n');
    expect(sealingEnv(home, { SEALING_KEY: ' ' })).toEqual({ SEALING_KEY: 'local:x' });
    expect(sealingEnv(home, { SEALING_KEY: 'own:y' })).toEqual({});
  });
});
