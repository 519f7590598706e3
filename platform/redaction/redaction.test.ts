import { describe, expect, it } from 'vitest';
import { createLog } from '../log.ts';
import * as setting from '../setting-kinds.ts';
import { defineSettings, parseSettings } from '../settings.ts';
import { rememberSecret } from './known-secrets.ts';
import { errorText, redactText } from './redact-text.ts';

/** What a log writes for one call. */
function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = [];
  write(
    createLog({ part: 'test', level: 'debug', to: { write: (line) => void lines.push(line) } }),
  );
  const text = lines.join('');
  // A redacted line is JSON still.
  JSON.parse(text);
  return text;
}

/** As ioredis makes it: the command and its arguments are fields of the error. */
function redisError(password: string): Error {
  return Object.assign(new Error('WRONGPASS invalid username-password pair'), {
    code: 'WRONGPASS',
    command: { name: 'auth', args: ['default', password] },
  });
}

describe('the root of the logs', () => {
  it('writes an error as type, message, code and stack, so the password of AUTH is not written', () => {
    for (const fields of [
      { err: redisError('hunter2hunter2') },
      { cause: redisError('hunter2hunter2') },
      { deep: { list: [redisError('hunter2hunter2')] } },
    ])
      expect(logged((log) => log.warn(fields, 'no'))).not.toContain('hunter2');
    expect(logged((log) => log.warn(redisError('hunter2hunter2')))).not.toContain('hunter2');
    const line = JSON.parse(logged((log) => log.warn({ err: redisError('x') }, 'no'))) as {
      err: object;
    };
    expect(Object.keys(line.err)).toEqual(['type', 'message', 'code', 'stack']);
  });

  it('keeps the messages of the causes and of the parts of an error', () => {
    const cause = new AggregateError([new Error('connect ECONNREFUSED ::1:6379')]);
    const line = logged((log) => log.warn({ err: new Error('no Redis', { cause }) }, 'no'));
    expect(line).toContain('no Redis');
    expect(logged((log) => log.warn({ err: cause }, 'no'))).toContain('ECONNREFUSED ::1:6379');
  });

  it.each([
    ['password', 'p'],
    ['connectionString', 'postgres://u:p@h/d'],
    ['Authorization', 'Bearer abc'],
    ['x-service-key', 'wk_svc_abc'],
    ['write_key', 'short'],
    ['sessionToken', 'abc'],
    ['Set-Cookie', ['a=b']],
    ['args', ['AUTH', 'p']],
  ])('writes no value of the field %s', (name, value) => {
    const line = logged((log) => log.info({ request: { [name]: value } }, 'x'));
    expect(line).toContain(`${JSON.stringify(name)}:"[redacted]"`);
  });

  it('keeps fields that only sound like secrets', () => {
    const fields = { write_key_id: 7, token: 'events:0:5', secrets_resealed: 3, has_secret: true };
    expect(JSON.parse(logged((log) => log.info(fields, 'x')))).toMatchObject(fields);
  });

  it('survives cycles, getters that throw, bytes and deep objects', () => {
    const cycle: Record<string, unknown> = { bytes: Buffer.from('secret') };
    cycle['self'] = cycle;
    Object.defineProperty(cycle, 'broken', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    const line = logged((log) => log.info({ cycle }, 'x'));
    expect(line).toContain('[unreadable]');
    expect(line).toContain('[6 bytes]');
  });
});

describe('a known secret', () => {
  const table = defineSettings({
    DATABASE_URL: setting.url({
      default: '',
      protocols: ['postgres:'],
      doc: 'd',
      secret: true,
    }),
    SEALING_KEY: setting.text({ default: '', doc: 'd', secret: true }),
    PANEL_URL: setting.url({ default: '', protocols: ['https:'], doc: 'd' }),
  });
  const password = 'pä"ss/w+rd 7';
  const key = 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE=';
  parseSettings(table, {
    DATABASE_URL: `postgres://writer:${encodeURIComponent(password)}@db/ravand`,
    SEALING_KEY: `new:${key},old:b2xkb2xkb2xkb2xkb2xk`,
  });

  it.each([
    ['as it is', password],
    ['URL-encoded', encodeURIComponent(password)],
    ['in base64', Buffer.from(password).toString('base64')],
    ['in HTTP Basic', Buffer.from(`writer:${password}`).toString('base64')],
    ['as part of a list', key],
  ])('is removed from every line: %s', (_form, secret) => {
    const line = logged((log) => log.error({ note: `a ${secret} b` }, `c ${secret} d`));
    expect(line).not.toContain(JSON.stringify(secret).slice(1, -1));
    expect(line.match(/\[redacted\]/g)).toHaveLength(2);
    expect(errorText(new Error(`x ${secret} y`))).toBe('x [redacted] y');
  });

  it('is no word of ordinary lines when it is short', () => {
    rememberSecret('info');
    expect(redactText('info')).toBe('info');
  });

  it('is not in the message of a setting that cannot be read', () => {
    const read = () => parseSettings(table, { PANEL_URL: 'ftp://operator:hunter2@panel' });
    expect(read).toThrow('PANEL_URL=ftp://operator:[redacted]@panel: expected');
  });
});

describe('a credential in a text', () => {
  it.each([
    ['connect to postgres://u:p@ss@h/d failed', 'connect to postgres://u:[redacted]@h/d failed'],
    ['redis://:p@h:6379/0', 'redis://:[redacted]@h:6379/0'],
    ['key wk_svc_0123456789abcdef', 'key wk_svc_[redacted]'],
    ['key sk_svc_0123456789abcdef.', 'key sk_svc_[redacted].'],
    ['Authorization: Bearer abcd.efgh', 'Authorization: Bearer [redacted]'],
    ['__Host-service_session=abc; Path=/', '__Host-service_session=[redacted]; Path=/'],
    [
      'POST /v1/hooks/event_pipeline/abcdefgh123 404',
      'POST /v1/hooks/event_pipeline/[redacted] 404',
    ],
    ['?user=a&password=b&x=1', '?user=a&password=[redacted]&x=1'],
    ['{"password":"b c","x":1}', '{"password":"[redacted]","x":1}'],
    ['{\\"password\\":\\"bc\\"}', '{\\"password\\":\\"[redacted]\\"}'],
    ['http://h/a?X-Amz-Signature=ff00&b=1', 'http://h/a?X-Amz-Signature=[redacted]&b=1'],
    ['X-Service-Key: wk_custom', 'X-Service-Key: [redacted]'],
    ['http://h:8080/a@b', 'http://h:8080/a@b'],
    ['"has_secret":true,"secret":null', '"has_secret":true,"secret":null'],
  ])('%s becomes %s', (text, redacted) => {
    expect(redactText(text)).toBe(redacted);
  });
});
