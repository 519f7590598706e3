import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { readJsonFile, writeJsonFile } from '../../cli/json-file.ts';
import type { Home } from '../../cli/stack/home.ts';

/** Passwords of the servers that a stack runs, hexadecimal: no URL needs an escape. */
export interface ServerPasswords {
  kafka: string;
  clickhouse: string;
  postgres: string;
  redis: string;
}

/** The user of ClickHouse and of Kafka; PostgreSQL has `postgres`, Redis its default user. */
export const SERVER_USER = 'ravand';
/**
 * Users of ClickHouse with the same password, and with the rights of deploy/clickhouse/users.sql:
 * services, reports (whose memory is limited by itself), and migrations.
 */
export const SERVICES_USER = 'ravand_services';
export const REPORTS_USER = 'ravand_reports';
export const MIGRATIONS_USER = 'ravand_migrations';

/** The URL of ClickHouse for another of its users. */
export function urlOfUser(clickhouseUrl: string, user: string): string {
  return clickhouseUrl.replace(/(?<=:\/\/)[^:@/]*(?=[:@])/, user);
}

/**
 * The passwords of a home, readable by its owner only; makes those that are missing. No server
 * keeps one: each reads its own from its configuration at every start.
 */
export function ensureServerPasswords({
  passwordsFile,
}: Pick<Home, 'passwordsFile'>): ServerPasswords {
  const kept = readJsonFile<Partial<ServerPasswords>>(passwordsFile) ?? {};
  const passwords = {
    kafka: kept.kafka ?? makePassword(),
    clickhouse: kept.clickhouse ?? makePassword(),
    postgres: kept.postgres ?? makePassword(),
    redis: kept.redis ?? makePassword(),
  };
  if (!isDeepStrictEqual(passwords, kept)) writeJsonFile(passwordsFile, passwords);
  return passwords;
}

function makePassword(): string {
  return randomBytes(20).toString('hex');
}
