/** A broker of Kafka, which is a controller, too. */
export interface OwnBroker {
  port: number;
  controllerPort: number;
}

/** A server of ClickHouse that is one of several shards; the others connect to `tcpPort`. */
export interface OwnShard {
  port: number;
  tcpPort: number;
}

/** Ports of the servers this stack runs; undefined for an external server. */
export interface OwnServers {
  /** `peers`: the other brokers of a cluster. */
  kafka: (OwnBroker & { peers?: readonly OwnBroker[] }) | undefined;
  /** `shards`: all of them, when there are several; the first has the same port. */
  clickhouse: { port: number; shards?: readonly OwnShard[] } | undefined;
  postgres: { port: number } | undefined;
  redis: { port: number } | undefined;
}

/** Addresses of a stack, in run/stack.json. Mode 0600: the URLs may contain passwords. */
export interface StackPlan {
  kafka_brokers: string;
  /** Names every shard. */
  clickhouse_url: string;
  /** With the user of operators' commands; undefined for an external server. */
  clickhouse_migration_url?: string | undefined;
  clickhouse_database: string;
  /** CLICKHOUSE_SHARDS; absent or empty: no shards. */
  clickhouse_shards?: string | undefined;
  database_url: string;
  redis_url: string;
  http_addr: string;
  public_api_addr: string;
  panel_addr: string;
  sandbox_addr: string;
  sandbox_smtp_addr: string;
  /** What the stack's own broker asks for (LOCAL_KAFKA_SASL). */
  kafka_login?: { username: string; password: string } | undefined;
  /** What the stack's own brokers are verified with; undefined: they have no TLS. */
  kafka_ca_file?: string | undefined;
  /** Whether external brokers use TLS. */
  kafka_tls: boolean;
  spool_dir: string;
  admin_ports: Record<string, number>;
  /** The settings that each service reads, by its name: it gets no other in its environment. */
  settings: Record<string, readonly string[]>;
  own: OwnServers;
}

/** How clients reach the brokers that the stack runs, whatever the environment says. */
export function ownBrokerEnv({
  kafka_login: login,
  kafka_ca_file: ca,
}: Pick<StackPlan, 'kafka_login' | 'kafka_ca_file'>): Record<string, string> {
  return {
    KAFKA_TLS: String(ca !== undefined),
    KAFKA_TLS_CA_FILE: ca ?? '',
    KAFKA_TLS_CERT_FILE: '',
    KAFKA_TLS_KEY_FILE: '',
    KAFKA_SASL_MECHANISM: login ? 'PLAIN' : '',
    KAFKA_SASL_USERNAME: login?.username ?? '',
    KAFKA_SASL_PASSWORD: login?.password ?? '',
  };
}

/** How clients find the shards of a stack's ClickHouse, whatever the environment says. */
export function shardsEnv({
  clickhouse_shards: shards = '',
}: Pick<StackPlan, 'clickhouse_shards'>): Record<string, string> {
  return shards === '' ? {} : { CLICKHOUSE_SHARDS: shards };
}
