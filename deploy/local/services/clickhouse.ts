import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { writePrivateFile } from '../../../cli/json-file.ts';
import type { Home } from '../../../cli/stack/home.ts';
import { grantsOf } from '../../clickhouse/read-users.ts';
import { MIGRATIONS_USER, REPORTS_USER, SERVER_USER, SERVICES_USER } from '../server-passwords.ts';
import type { Launch } from './service.ts';

interface Server {
  home: Home;
  checkout: string;
  port: number;
  /** Memory limit, bytes. */
  memory: number;
  password: string;
  /** Which the rights of the users are for; ravand by default. */
  database?: string;
  /** Of its files; clickhouse by default. */
  name?: string;
  shard?: Shard;
}

/** What makes a server one of several shards. */
interface Shard {
  tcpPort: number;
  /** By name: the TCP ports of the replicas of each shard. */
  clusters: Readonly<Record<string, readonly (readonly number[])[]>>;
  /** As whom the shards ask each other. */
  user: string;
}

const MIB = 2 ** 20;
/** Longer than any process runs; much more overflows in the engine. */
const QUOTA_SECONDS = 10 * 365 * 86_400;

/** Writes the configuration, with small caches: the defaults are for larger machines. */
export function prepareClickhouse({
  home,
  checkout,
  port,
  memory,
  password,
  database = 'ravand',
  name = 'clickhouse',
  shard,
}: Server): Launch {
  const folder = join(home.data, name);
  mkdirSync(folder, { recursive: true });
  const cache = Math.floor(Math.min(256 * MIB, memory / 8));
  const users = join(home.run, `${name}-users.xml`);
  writePrivateFile(users, usersFile({ password, database, isShard: shard !== undefined }));
  const settings: Record<string, string | number> = {
    path: folder,
    tmp_path: join(folder, 'tmp/'),
    http_port: port,
    listen_host: '127.0.0.1',
    max_server_memory_usage: memory,
    merges_mutations_memory_usage_soft_limit: Math.floor(memory / 2),
    mark_cache_size: cache,
    primary_index_cache_size: cache,
    index_mark_cache_size: Math.floor(cache / 4),
    background_pool_size: Math.max(2, availableParallelism()),
    // Nobody waits for a merge. A server that has too little CPU makes parts faster than it merges
    // them, until it delays inserts (parts_to_delay_insert).
    os_threads_nice_value_merge_mutate: 15,
    max_concurrent_queries: 200,
    users_config: users,
    ...(shard ? { tcp_port: shard.tcpPort } : {}),
  };
  const file = join(home.run, `${name}.xml`);
  const lines = Object.entries(settings).map(
    ([name, value]) => `  <${name}>${escapeXml(String(value))}</${name}>`,
  );
  if (shard) lines.push(`  ${clustersOf({ ...shard, password })}`);
  writePrivateFile(
    file,
    `<clickhouse>\n${lines.join('\n')}\n  ${STRICT_SYSTEM_TABLES}\n  <logger><console>1</console></logger>\n</clickhouse>\n`,
  );
  return {
    command: process.execPath,
    args: [join(checkout, 'deploy/local/clickhouse-server.ts'), file, ...(shard ? ['TCP'] : [])],
    env: {},
  };
}

function clustersOf({ clusters, user, password }: Shard & { password: string }): string {
  const replica = (port: number) =>
    `<replica><host>127.0.0.1</host><port>${port}</port><user>${user}</user><password>${password}</password></replica>`;
  const all = Object.entries(clusters).map(
    ([name, shards]) =>
      `<${name}>${shards.map((ports) => `<shard>${ports.map(replica).join('')}</shard>`).join('')}</${name}>`,
  );
  return `<remote_servers>${all.join('')}</remote_servers>`;
}

/**
 * `ravand` is the user of people and of tests; services have others (limitedUsers).
 * The engine starts itself as `default`, without a password
 * and from 127.0.0.1, which cannot be changed. That user reads no table: it has no other grant, the
 * statements of clickhouse-server.ts (one more for TCP) exhaust its quota, and no query of it runs
 * beside another; the last of the statements never ends.
 */
function usersFile({ password, database, isShard }: Login): string {
  const hash = createHash('sha256').update(password).digest('hex');
  return `<clickhouse>
  <profiles>
    <default/>
    <start>
      <max_concurrent_queries_for_all_users>1</max_concurrent_queries_for_all_users>
    </start>
  </profiles>
  <quotas>
    <default/>
    <start><interval><duration>${QUOTA_SECONDS}</duration><queries>${isShard ? 3 : 2}</queries></interval></start>
  </quotas>
  <users>
    <default>
      <no_password/>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>start</profile>
      <quota>start</quota>
      <grants>
        <query>GRANT SYSTEM LISTEN ON *.*</query>
        <query>GRANT SELECT ON system.numbers</query>
      </grants>
    </default>
    <${SERVER_USER}>
      <password_sha256_hex>${hash}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <access_management>1</access_management>
      <named_collection_control>1</named_collection_control>
    </${SERVER_USER}>
    ${limitedUsers({ passwordHash: hash, database, isShard })}
  </users>
</clickhouse>
`;
}

interface Login {
  password: string;
  database: string;
  isShard: boolean;
}

/** As in the configuration that comes with ClickHouse: tables of the system need a right. */
const STRICT_SYSTEM_TABLES =
  '<access_control_improvements><select_from_system_db_requires_grant>true</select_from_system_db_requires_grant></access_control_improvements>';

/** Migrations, services and reports, each with no more than its rights. */
export function limitedUsers({
  passwordHash,
  database,
  isShard = false,
}: {
  passwordHash: string;
  database: string;
  isShard?: boolean;
}): string {
  return [MIGRATIONS_USER, SERVICES_USER, REPORTS_USER]
    .map(
      (user) => `<${user}>
      <password_sha256_hex>${passwordHash}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>${grantsOf(user, { database, isShard })
        .map((grant) => `<query>${escapeXml(grant)}</query>`)
        .join('')}</grants>
    </${user}>`,
    )
    .join('\n    ');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
