import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseTrackingKeys } from '../../events/channels/tracking-keys.ts';
import { parseSealingKeys } from '../../platform/sealing.ts';
import { ensureHomeKeys, homeKeys } from './home-keys.ts';

describe('the keys of a home', () => {
  let home: { sealingKeyFile: string; trackingKeysFile: string };
  beforeEach(() => {
    const folder = mkdtempSync(join(tmpdir(), 'ravand-key-'));
    home = {
      sealingKeyFile: join(folder, 'sealing-key'),
      trackingKeysFile: join(folder, 'tracking-keys'),
    };
  });
  afterEach(() => rmSync(dirname(home.sealingKeyFile), { recursive: true }));

  it('are made once, readable by their owner only', () => {
    ensureHomeKeys(home);
    const files = Object.values(home);
    const first = files.map((file) => readFileSync(file, 'utf8'));
    ensureHomeKeys(home);
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(first);
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(parseSealingKeys(first[0] ?? '')).toBeDefined();
    expect(parseTrackingKeys(first[1] ?? '')).toBeDefined();
  });

  it('are passed to services unless the environment sets them', () => {
    expect(homeKeys(home, {})).toEqual({});
    writeFileSync(home.sealingKeyFile, 'local:x\n');
    writeFileSync(home.trackingKeysFile, '1:y\n');
    const keys = { SEALING_KEY: 'local:x', TRACKING_KEYS: '1:y' };
    expect(homeKeys(home, { SEALING_KEY: ' ' })).toEqual(keys);
    expect(homeKeys(home, { SEALING_KEY: 'own:y' })).toEqual({ TRACKING_KEYS: '1:y' });
    expect(homeKeys(home, { TRACKING_KEYS: '2:z' })).toEqual({ SEALING_KEY: 'local:x' });
  });
});
