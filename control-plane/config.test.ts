import { describe, expect, it } from 'vitest';
import { settings } from './config.ts';
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
