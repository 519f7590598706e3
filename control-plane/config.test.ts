import { describe, expect, it } from 'vitest';
import { isBehindTls, problemsOf, settings } from './config.ts';
import { parseSettings } from '../platform/settings.ts';

describe('CONTROL_ADDR', () => {
  it.each([
    '127.0.0.1:0',
    'localhost:9000',
    '10.1.2.3:9000',
    '172.31.0.1:1',
    '192.168.0.1:1',
    '[::1]:9000',
    '[fd00::1]:1',
  ])('accepts the private address %s', (text) => {
    expect(parseSettings(settings, { CONTROL_ADDR: text }).CONTROL_ADDR).toBeDefined();
  });

  it.each([
    ':9000',
    '0.0.0.0:9000',
    '[::]:9000',
    '203.0.113.9:1',
    '172.32.0.1:1',
    'control.example:9000',
  ])('refuses the public address %s', (text) => {
    expect(() => parseSettings(settings, { CONTROL_ADDR: text })).toThrow('never public');
  });
});

describe('PANEL_URL', () => {
  const read = (env: NodeJS.ProcessEnv) => parseSettings(settings, env);

  it('with https:// needs the proxy that terminates TLS, or the word that there is none', () => {
    for (const PANEL_URL of ['https://panel.example', 'HTTPS://panel.example']) {
      expect(isBehindTls(read({ PANEL_URL }))).toBe(true);
      expect(problemsOf(read({ PANEL_URL })).join()).toMatch(/^TRUSTED_PROXIES is empty/);
      for (const TRUSTED_PROXIES of ['10.0.0.1', 'none'])
        expect(problemsOf(read({ PANEL_URL, TRUSTED_PROXIES }))).toEqual([]);
    }
  });

  it('needs none with http://, for one machine', () => {
    for (const PANEL_URL of ['', 'http://localhost:8082'])
      expect(problemsOf(read({ PANEL_URL }))).toEqual([]);
  });
});
