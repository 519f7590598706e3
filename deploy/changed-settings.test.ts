import { expect, it } from 'vitest';
import { changedSettings } from './changed-settings.ts';
import { serviceSettings } from './service-settings.ts';

it('the settings of an audit line are those that differ from their defaults, without secrets', async () => {
  const env = {
    DEDUPE_TTL: '24h',
    CATALOGUE_INTERVAL: '5s',
    SEALING_KEY: 'k1:c2VjcmV0',
    DATABASE_URL: 'postgres://ravand:secret@db/ravand',
    UNKNOWN: 'x',
  };
  expect(changedSettings(await serviceSettings(), env)).toEqual({
    DATABASE_URL: '(set)',
    DEDUPE_TTL: '24h',
    SEALING_KEY: '(set)',
  });
});
