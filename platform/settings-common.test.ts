import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  clickhouseSettings,
  kafkaSettings,
  postgresSettings,
  redisSettings,
} from './settings-common.ts';
import { parseSettings, variablesOf, type SettingsTable } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'ravand-connections-'));
const notPem = join(folder, 'not.pem');
writeFileSync(notPem, 'hello');
const pem = join(folder, 'broken.pem');
writeFileSync(pem, '-----BEGIN CERTIFICATE-----\nhello\n-----END CERTIFICATE-----\n');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Row = [what: string, table: SettingsTable, env: Record<string, string>, message: RegExp];
const rows: Row[] = [
  [
    'a CA file that is missing',
    kafkaSettings,
    { KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: '/nowhere/ca.pem' },
    /KAFKA_TLS_CA_FILE=\/nowhere\/ca\.pem: expected a file that this process can read .*ENOENT/,
  ],
  [
    'a CA file that is not PEM',
    clickhouseSettings,
    { CLICKHOUSE_URL: 'https://ch.example', CLICKHOUSE_TLS_CA_FILE: notPem },
    /CLICKHOUSE_TLS_CA_FILE=.*: expected a PEM file/,
  ],
  [
    'a CA file although TLS is off',
    redisSettings,
    { REDIS_URL: 'redis://cache.example', REDIS_TLS_CA_FILE: pem },
    /REDIS_TLS_CA_FILE: TLS is off; begin REDIS_URL with rediss:\/\//,
  ],
  [
    'a client certificate without its key',
    kafkaSettings,
    { KAFKA_TLS: 'true', KAFKA_TLS_CERT_FILE: pem },
    /KAFKA_TLS_CERT_FILE: set KAFKA_TLS_KEY_FILE/,
  ],
  [
    'a client certificate that does not fit its key',
    kafkaSettings,
    { KAFKA_TLS: 'true', KAFKA_TLS_CERT_FILE: pem, KAFKA_TLS_KEY_FILE: pem },
    /KAFKA_TLS_CERT_FILE: the certificate and its private key .* cannot be used together/,
  ],
  [
    'a SASL user without a mechanism',
    kafkaSettings,
    { KAFKA_SASL_USERNAME: 'alice' },
    /KAFKA_SASL_MECHANISM: it is empty although KAFKA_SASL_USERNAME/,
  ],
  [
    'SCRAM without a password',
    kafkaSettings,
    { KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512', KAFKA_SASL_USERNAME: 'alice' },
    /KAFKA_SASL_MECHANISM: SCRAM-SHA-512 needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD/,
  ],
  [
    'OAUTHBEARER without a source of tokens',
    kafkaSettings,
    { KAFKA_SASL_MECHANISM: 'OAUTHBEARER' },
    /set one of KAFKA_OAUTH_TOKEN_URL and KAFKA_OAUTH_TOKEN_PATH/,
  ],
  [
    'a token endpoint without a client',
    kafkaSettings,
    { KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_OAUTH_TOKEN_URL: 'https://a.example/token' },
    /KAFKA_OAUTH_CLIENT_ID and KAFKA_OAUTH_CLIENT_SECRET; set both/,
  ],
  [
    'several hosts of one Redis server',
    redisSettings,
    { REDIS_URL: 'redis://a:6379,b:6379' },
    /REDIS_URL: it has several hosts; set REDIS_MODE to sentinel or cluster/,
  ],
  [
    'a database of a Redis Cluster',
    redisSettings,
    { REDIS_URL: 'redis://a:6379,b:6379/3', REDIS_MODE: 'cluster' },
    /REDIS_MODE: a Redis Cluster has only database 0; remove \/3/,
  ],
  [
    'a host of ClickHouse that is none',
    clickhouseSettings,
    { CLICKHOUSE_URL: 'http://user:password@a:8123,b:port' },
    /CLICKHOUSE_URL=\(hidden\): expected a URL that begins with http:\/\/ or https:\/\//,
  ],
  [
    'a mode of TLS that may fall back to plain text',
    postgresSettings,
    { DATABASE_URL: 'postgres://db.example/ravand?sslmode=prefer' },
    /DATABASE_URL=\(hidden\): expected sslmode=prefer to be one of disable, no-verify, require/,
  ],
  [
    'a CA file of PostgreSQL that is missing',
    postgresSettings,
    { DATABASE_URL: 'postgres://db.example/ravand?sslrootcert=/nowhere/ca.pem' },
    /DATABASE_URL=\(hidden\): expected in sslrootcert=\/nowhere\/ca\.pem a file/,
  ],
];

describe('settings of connections are refused at the start, with what to do', () => {
  it.each(rows)('%s', (_, table, env, message) => {
    expect(() => parseSettings(table, env)).toThrow(message);
  });
});

it('every secret of a connection can also be read from a file', () => {
  const table = { ...kafkaSettings, ...clickhouseSettings, ...postgresSettings, ...redisSettings };
  expect(variablesOf(table).filter((name) => !(name in table))).toEqual([
    'KAFKA_TLS_KEY_PASSWORD_FILE',
    'KAFKA_SASL_PASSWORD_FILE',
    'KAFKA_OAUTH_CLIENT_SECRET_FILE',
    'CLICKHOUSE_URL_FILE',
    'CLICKHOUSE_TLS_KEY_PASSWORD_FILE',
    'DATABASE_URL_FILE',
    'REDIS_URL_FILE',
    'REDIS_SENTINEL_PASSWORD_FILE',
    'REDIS_TLS_KEY_PASSWORD_FILE',
  ]);
});
