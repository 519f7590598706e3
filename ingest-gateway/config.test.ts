import { describe, expect, it } from 'vitest';
import { SettingsError } from '../platform/settings.ts';
import { settings } from './config.ts';
import { parseSettings } from '../platform/settings.ts';

describe('the settings of the ingest host', () => {
  it('have the defaults of the specification', () => {
    expect(parseSettings(settings, {})).toMatchObject({
      HTTP_ADDR: { host: 'localhost', port: 8080 },
      MAX_BODY_BYTES: 5_242_880,
      WRITE_KEY_CACHE: 60_000,
      DEDUPE_TTL: 172_800_000,
    });
  });

  it('report every value that cannot be parsed', () => {
    const read = () =>
      parseSettings(settings, {
        MAX_BODY_BYTES: '15MiB',
        TRUSTED_PROXIES: '10.0.0.0/99',
        WRITE_KEY_CACHE: 'soon',
        SPOOL_MAX_BYTES: '0',
      });
    expect(read).toThrow(SettingsError);
    for (const name of [
      'MAX_BODY_BYTES=15MiB',
      'TRUSTED_PROXIES=10.0.0.0/99',
      'WRITE_KEY_CACHE=soon',
      'SPOOL_MAX_BYTES=0',
    ])
      expect(read).toThrow(name);
  });
});
