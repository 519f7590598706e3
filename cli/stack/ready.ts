import type { WebhookSource } from '../../events/webhooks/sources.ts';
import type { Role } from '../../platform/permissions.ts';
import type { Home } from './home.ts';
import { readJsonFile } from '../json-file.ts';

/** What a platform needs to deliver to a webhook connection of the demo account. */
export interface DemoWebhook {
  token: string;
  secret: string;
}

/** Who signs in to the demo account. */
export interface DemoMember {
  email: string;
  password: string;
}

/** The demo account and its keys. Kept in a file: the database holds only their hashes. */
export interface DemoKeys {
  account_id: number;
  app_id: number;
  write_key: string;
  management_keys: Record<Exclude<Role, 'owner'>, string>;
  /** By source; empty without a sealing key. */
  webhooks: Partial<Record<WebhookSource, DemoWebhook>>;
  /** Of the campaign that `./ravand demo` sends: an e-mail. */
  template_id: number;
  /** Owner of the account, who signs in to the panel. */
  member: DemoMember;
}

/**
 * `$RAVAND_HOME/run/ready.json`: written when the whole stack is ready, removed when it stops.
 */
export interface Ready {
  ingest_url: string;
  base_url: string;
  panel_url: string;
  /** The messages that the demo account sends, as a page and as a list. */
  sandbox_url: string;
  clickhouse_url: string;
  clickhouse_database: string;
  /** CLICKHOUSE_SHARDS of the stack, if it has several shards; clickhouse_url names all of them. */
  clickhouse_shards?: string | undefined;
  kafka_brokers: string;
  /** Only when the brokers of the stack ask for it (LOCAL_KAFKA_SASL, or several brokers). */
  kafka_login?: { username: string; password: string } | undefined;
  /** The certificate that the brokers of the stack are verified with, if they have TLS. */
  kafka_ca_file?: string | undefined;
  redis_url: string;
  database_url: string;
  /** Settings of the address guard, as the services of the stack have them. */
  outbound?: Readonly<Record<string, string>>;
  demo: DemoKeys;
}

export function readReady(home: Home): Ready | undefined {
  return readJsonFile<Ready>(home.readyFile);
}
