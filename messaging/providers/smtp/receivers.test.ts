import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { atEnd, closeAll } from '../../../platform/outbound/receivers.ts';
import { loopbackIsOutside, messageTo, providerDeps } from '../testing/provider-deps.ts';
import { parseSmtpConfig, parseSmtpSecret } from './config.ts';
import { openSmtp } from './smtp.ts';

/** Against smtp-server and mailauth, which are not ours. */

afterEach(closeAll);

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const DKIM = { selector: 's1', private_key: privateKey };
const MESSAGE = {
  ...messageTo(
    { kind: 'email', address: 'Nima@mail.example' },
    { subject: 'سلام نرگس', text: '.\n..متن\n.', html: `<p>${'متن '.repeat(2000)}</p>` },
  ),
  email: {
    bounceLocal: 'aeaqb3',
    unsubscribeUrl: 'https://news.shop.example/e/u/x',
    preferencesUrl: 'https://news.shop.example/e/p/x',
  },
};

interface Got {
  session: SMTPServerSession;
  mail: Buffer;
}

async function receive(options: SMTPServerOptions): Promise<{ port: number; got: Got[] }> {
  const got: Got[] = [];
  const server = new SMTPServer({
    ...{ authOptional: true, hideDSN: false, closeTimeout: 100, logger: false },
    ...options,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      // The envelope is emptied when the callback runs.
      const seen = structuredClone({ envelope: session.envelope, secure: session.secure });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        got.push({ session: seen as SMTPServerSession, mail: Buffer.concat(chunks) });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  atEnd(() => {
    server.close(() => undefined);
  });
  return { port: (server.server.address() as AddressInfo).port, got };
}

function send(
  port: number,
  options: { config?: object; secret?: string; isOutside?: boolean } = {},
): ReturnType<ReturnType<typeof openSmtp>['send']> {
  const { config = {}, secret = '', isOutside = false } = options;
  const deps = providerDeps(isOutside ? { allow: [], rules: loopbackIsOutside() } : {});
  const provider = openSmtp(
    parseSmtpConfig({
      ...{ host: '127.0.0.1', port, from: 'فروشگاه <news@shop.example>' },
      ...{ bounce_domain: 'bounce.shop.example', ...config },
    }),
    { channel: 'email', accountId: 1, secret, deps },
  );
  atEnd(() => void provider.close());
  return provider.send(MESSAGE, { signal: new AbortController().signal });
}

describe('a mail at another SMTP server', () => {
  test('has its own envelope sender, asks for reports, and arrives as it was made', async () => {
    const { port, got } = await receive({ disabledCommands: ['STARTTLS', 'AUTH'] });
    expect(await send(port)).toMatchObject({ kind: 'accepted' });
    expect(got[0]?.session.envelope).toMatchObject({
      mailFrom: { address: 'aeaqb3@bounce.shop.example' },
      rcptTo: [
        {
          address: 'Nima@mail.example',
          dsn: { notify: ['FAILURE', 'DELAY'], orcpt: 'rfc822;Nima@mail.example' },
        },
      ],
      dsn: { ret: 'HDRS', envid: 'c7.12.0123456789abcdef0123456789abcdef' },
    });
    const text = got[0]?.mail.toString() ?? '';
    expect(text).toContain('Message-ID: <c7.12.0123456789abcdef0123456789abcdef@shop.example>');
    const part = /base64\r\n\r\n([^-]*?)\r\n--/.exec(text)?.[1] ?? '';
    expect(Buffer.from(part, 'base64').toString()).toBe('.\r\n..متن\r\n.');
  });

  test('comes from the sender itself when there is no bounce domain', async () => {
    const { port, got } = await receive({ disabledCommands: ['STARTTLS', 'AUTH'] });
    await send(port, { config: { bounce_domain: '' } });
    expect(got[0]?.session.envelope.mailFrom).toMatchObject({ address: 'news@shop.example' });
  });

  test('is signed so that mailauth accepts it, one-click headers included', async () => {
    const { port, got } = await receive({ disabledCommands: ['STARTTLS', 'AUTH'] });
    await send(port, { secret: JSON.stringify({ dkim: DKIM }) });
    const asked: string[] = [];
    const verified = await dkimVerify(got[0]?.mail ?? '', {
      resolver: (name: string) => {
        asked.push(name);
        return Promise.resolve([[`v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`]]);
      },
    });
    expect(asked).toEqual(['s1._domainkey.shop.example']);
    expect(verified.results).toHaveLength(1);
    const [result] = verified.results;
    expect(result?.status).toMatchObject({ result: 'pass', aligned: 'shop.example' });
    expect(result?.signingHeaders?.keys.toLowerCase().split(': ')).toEqual(
      expect.arrayContaining(['from', 'list-unsubscribe', 'list-unsubscribe-post']),
    );
  });
});

describe('a password', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ravand-smtp-'));
  const file = (name: string) => join(folder, name);
  let certificate: { key: Buffer; cert: Buffer };
  beforeAll(() => {
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
        ...['-keyout', file('key'), '-out', file('cert'), '-days', '2', '-subj', '/CN=localhost'],
      ],
      { stdio: 'ignore' },
    );
    certificate = { key: readFileSync(file('key')), cert: readFileSync(file('cert')) };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const withLogin = (options: SMTPServerOptions) => {
    const logins: unknown[] = [];
    const onAuth: NonNullable<SMTPServerOptions['onAuth']> = (auth, _, done) => {
      logins.push(auth.password);
      done(null, { user: auth.username ?? '' });
    };
    return { logins, options: { ...options, ...certificate, onAuth } };
  };
  const LOGIN = { config: { username: 'news' }, secret: 'hunter22' };
  const outside = (port: number) => send(port, { ...LOGIN, isOutside: true });

  test('opens a server inside, with a certificate of its own', async () => {
    const { logins, options } = withLogin({ authOptional: false });
    const { port, got } = await receive(options);
    expect(await send(port, LOGIN)).toMatchObject({ kind: 'accepted' });
    expect(logins).toEqual(['hunter22']);
    expect(got[0]?.session.secure).toBe(true);
  });

  test('opens a server inside without TLS', async () => {
    const { logins, options } = withLogin({
      ...{ authOptional: false, allowInsecureAuth: true },
      disabledCommands: ['STARTTLS'],
    });
    const { port } = await receive(options);
    expect(await send(port, LOGIN)).toMatchObject({ kind: 'accepted' });
    expect(logins).toEqual(['hunter22']);
  });

  test('is not sent to a server outside without TLS', async () => {
    const { logins, options } = withLogin({
      ...{ allowInsecureAuth: true },
      disabledCommands: ['STARTTLS'],
    });
    const { port, got } = await receive(options);
    expect(await outside(port)).toMatchObject({ kind: 'broken', reason: 'tls' });
    expect([logins, got]).toEqual([[], []]);
  });

  test('is not sent to a server outside whose certificate is not valid', async () => {
    for (const secure of [false, true]) {
      const { logins, options } = withLogin({ secure });
      const { port, got } = await receive(options);
      const config = { ...LOGIN.config, secure };
      const answer = await send(port, { ...LOGIN, config, isOutside: true });
      expect(answer).toMatchObject({ kind: 'broken', reason: 'tls' });
      expect([logins, got]).toEqual([[], []]);
    }
  });

  test('and a DKIM key are read from one secret', () => {
    const from = { name: '', address: 'a@shop.example' };
    expect(parseSmtpSecret('{"not json', from)).toEqual({
      password: '{"not json',
      dkim: undefined,
    });
    expect(parseSmtpSecret('hunter22\n', from)).toEqual({ password: 'hunter22', dkim: undefined });
    const read = parseSmtpSecret(JSON.stringify({ password: 'x', dkim: DKIM }), from);
    expect(read).toMatchObject({
      password: 'x',
      dkim: { domain: 'shop.example', selector: 's1' },
    });
  });

  const ed25519 = generateKeyPairSync('ed25519').privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  test.each([
    [{ password: 1 }, 'the secret has to be a password or'],
    [{ pass: 'x' }, 'the secret has to be a password or'],
    [{ dkim: { private_key: privateKey } }, 'dkim has to be'],
    [{ dkim: { ...DKIM, selector: 'a;b' } }, 'have to be DNS names'],
    [{ dkim: { ...DKIM, private_key: 'x' } }, 'has to be an RSA key'],
    [{ dkim: { ...DKIM, private_key: ed25519 } }, 'has to be an RSA key'],
  ])('cannot be in the secret %j', (secret, message) => {
    const parse = () =>
      parseSmtpSecret(JSON.stringify(secret), { name: '', address: 'a@b.example' });
    expect(parse).toThrow(message);
  });
});

test.each([
  [{}, 'host is missing'],
  [{ host: 'x', port: 0 }, 'port has to be'],
  [{ host: 'x', port: 25 }, 'from is missing'],
  [{ host: 'x', port: 25, from: 'news' }, 'from has to be an e-mail address'],
  [{ host: 'x', port: 25, from: 'a@b.example\r\nBcc: c@d' }, 'from has to be a text of one line'],
  [{ host: 'x', port: 25, from: 'a@b.example', reply_to: 'x' }, 'reply_to has to be'],
  [{ host: 'x', port: 25, from: 'a@b.example', bounce_domain: 'a b' }, 'bounce_domain has to be'],
  [{ host: 'x', port: 25, from: 'a@b.example', secure: 'yes' }, 'secure has to be true or false'],
])('a sender cannot be configured with %j', (config, message) => {
  expect(() => parseSmtpConfig(config)).toThrow(message);
});
