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
/** The user of reports in ClickHouse, with the same password: its memory is limited by itself. */
export const REPORTS_USER = 'ravand_reports';

/** The URL of ClickHouse for reports. */
export function reportsUrl(clickhouseUrl: string): string {
  const url = new URL(clickhouseUrl);
  url.username = REPORTS_USER;
  return url.href;
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
