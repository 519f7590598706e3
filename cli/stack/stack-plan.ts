/**
 * Ports of the servers that this stack runs; undefined for an external server that a setting
 * names.
 */
export interface OwnServers {
  kafka: { port: number; controllerPort: number } | undefined;
  clickhouse: { port: number } | undefined;
  postgres: { port: number } | undefined;
  redis: { port: number } | undefined;
}

/**
 * The addresses of one stack, kept in run/stack.json for every command. Mode 0600: the URLs may
 * contain passwords.
 */
export interface StackPlan {
  kafka_brokers: string;
  clickhouse_url: string;
  clickhouse_database: string;
  database_url: string;
  redis_url: string;
  http_addr: string;
  public_api_addr: string;
  panel_addr: string;
  /** Whether external brokers use TLS. */
  kafka_tls: boolean;
  spool_dir: string;
  admin_ports: Record<string, number>;
  own: OwnServers;
}
