import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { certificateExpiry, certificateFiles, watchCertificates } from './certificate-expiry.ts';

const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
const DAY = 86_400_000;

/** A file with a certificate that lasts for so many days. */
function certificate(days: number): string {
  const path = join(folder, `${days}.pem`);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      ...key,
      join(folder, 'key.pem'),
      '-subj',
      '/CN=x',
      '-days',
      `${days}`,
      '-out',
      path,
    ],
    { stdio: 'pipe' },
  );
  return path;
}

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const near = (days: number) => (end: number) => Math.abs(end - Date.now() - days * DAY) < DAY / 2;
const [soon, late] = [certificate(3), certificate(900)];
const both = file(
  'both.pem',
  `a comment\n${readFileSync(late, 'utf8')}${readFileSync(soon, 'utf8')}`,
);

describe('the expiry of a file', () => {
  it('is that of the certificate in it that ends first, and of authorities that ends last', async () => {
    expect(await certificateExpiry(soon, false)).toSatisfy(near(3));
    expect(await certificateExpiry(both, false)).toSatisfy(near(3));
    expect(await certificateExpiry(both, true)).toSatisfy(near(900));
  });

  it('is 0 of a file that is missing, holds no certificate or a damaged one', async () => {
    const damaged = readFileSync(soon, 'utf8').replace(/^M.*$/m, 'AAAA');
    for (const path of [join(folder, 'none.pem'), file('a', 'no PEM'), file('b', damaged)])
      expect(await certificateExpiry(path, false)).toBe(0);
  });
});

it('the files of a service are those of its TLS settings and in the URL of PostgreSQL', async () => {
  const files = certificateFiles({
    KAFKA_TLS_CA_FILE: late,
    KAFKA_TLS_CERT_FILE: soon,
    KAFKA_TLS_KEY_FILE: join(folder, 'key.pem'),
    CLICKHOUSE_TLS_CA_FILE: '',
    KAFKA_OAUTH_CA_FILE: late,
    ADMIN_ADDR: { host: '', port: 0 },
    DATABASE_URL: `postgres://u@h/d?sslmode=verify-full&sslrootcert=${both}&sslcert=${soon}`,
  });
  const registry = new Registry();
  watchCertificates(registry, files);
  const values = [...(await registry.metrics()).matchAll(/\{setting="([^"]+)"\} (\d+)/g)].map(
    ([, setting, seconds]) => [setting, Math.round((Number(seconds) * 1000 - Date.now()) / DAY)],
  );
  expect(Object.fromEntries(values)).toEqual({
    KAFKA_TLS_CA_FILE: 900,
    KAFKA_TLS_CERT_FILE: 3,
    KAFKA_OAUTH_CA_FILE: 900,
    'DATABASE_URL sslrootcert': 900,
    'DATABASE_URL sslcert': 3,
  });
});
