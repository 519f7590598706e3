import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseDuration } from './duration.ts';
import * as setting from './setting-kinds.ts';
import { defineSettings, parseSettings, SettingsError } from './settings.ts';

const table = defineSettings({
  HTTP_ADDR: setting.address({ default: { host: 'localhost', port: 8080 }, doc: 'd' }),
  DEDUPE_TTL: setting.duration({ default: 172_800_000, doc: 'd' }),
  MAX_BODY_BYTES: setting.bytes({ default: 5_242_880, min: 1024, doc: 'd' }),
  LEVEL: setting.oneOf(['debug', 'info'], { default: 'info', doc: 'd' }),
  TOKEN: setting.bytes({ default: 1, doc: 'd', secret: true }),
});

describe('parseSettings', () => {
  it('applies defaults to absent and empty variables, and freezes the result', () => {
    const values = parseSettings(table, { LEVEL: ' ' });
    expect(values).toEqual({
      HTTP_ADDR: { host: 'localhost', port: 8080 },
      DEDUPE_TTL: 172_800_000,
      MAX_BODY_BYTES: 5_242_880,
      LEVEL: 'info',
      TOKEN: 1,
    });
    expect(Object.isFrozen(values)).toBe(true);
  });

  it('parses the variables that are set', () => {
    const values = parseSettings(table, {
      HTTP_ADDR: ':9',
      DEDUPE_TTL: '1h30m',
      MAX_BODY_BYTES: '6MiB',
      LEVEL: 'debug',
    });
    expect(values).toMatchObject({
      HTTP_ADDR: { host: '0.0.0.0', port: 9 },
      DEDUPE_TTL: 5_400_000,
      MAX_BODY_BYTES: 6 * 2 ** 20,
      LEVEL: 'debug',
    });
  });

  it('reports every problem with its value and the expected form, and hides secrets', () => {
    const attempt = () =>
      parseSettings(table, {
        HTTP_ADDR: 'x',
        DEDUPE_TTL: 'soon',
        MAX_BODY_BYTES: '12',
        LEVEL: 'loud',
        TOKEN: 'abc',
      });
    expect(attempt).toThrow(SettingsError);
    expect(attempt).toThrow(
      /HTTP_ADDR=x: expected host:port[\s\S]*DEDUPE_TTL=soon: expected a duration[\s\S]*MAX_BODY_BYTES=12[\s\S]*LEVEL=loud: expected one of debug, info[\s\S]*TOKEN=\(hidden\)/,
    );
  });
});

it.each([
  ['48h', 172_800_000],
  ['15', 15_000],
  ['250ms', 250],
  ['1.5s', 1500],
  ['h', undefined],
  ['-1s', undefined],
])('parseDuration(%s) is %s', (text, expected) => {
  expect(parseDuration(text)).toBe(expected);
});

describe('a secret setting', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ravand-settings-'));
  const file = join(folder, 'token');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is read from the file that NAME_FILE names, without the line end', () => {
    writeFileSync(file, '4096\n');
    expect(parseSettings(table, { TOKEN_FILE: file }).TOKEN).toBe(4096);
  });

  it.each([
    [
      'a file that is missing',
      { TOKEN_FILE: '/nowhere/token' },
      /TOKEN_FILE=\/nowhere\/token: .*ENOENT/,
    ],
    ['an empty file', { TOKEN_FILE: '/dev/null' }, /TOKEN_FILE=\/dev\/null: the file is empty/],
    ['a value as well', { TOKEN_FILE: '/x', TOKEN: '5' }, /TOKEN_FILE=\/x: TOKEN is set as well/],
  ])('is refused with %s', (_, env, message) => {
    expect(() => parseSettings(table, env)).toThrow(message);
  });

  it('is shown in no message when its file has an unusable value', () => {
    writeFileSync(file, 'not-a-number-1234');
    expect(() => parseSettings(table, { TOKEN_FILE: file })).toThrow(
      new RegExp(`TOKEN_FILE=${file} \\(hidden\\): expected a number of bytes`),
    );
    expect(() => parseSettings(table, { TOKEN_FILE: file })).not.toThrow('not-a-number-1234');
  });

  it('only is read from a file', () => {
    expect(parseSettings(table, { LEVEL_FILE: '/nowhere' }).LEVEL).toBe('info');
  });
});
