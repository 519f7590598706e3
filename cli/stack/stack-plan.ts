/**
 * Ports of the servers that this stack runs itself; undefined where a setting names one of the
 * user's own.
 */
export interface OwnServers {
  kafka: { port: number; controllerPort: number } | undefined;
  clickhouse: { port: number } | undefined;
  postgres: { port: number } | undefined;
  redis: { port: number } | undefined;
}

/**
 * Where everything of one stack is. Kept in run/stack.json (mode 0600: the URLs may carry
 * passwords), so that every command finds the parts.
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
  /** Whether the brokers of the user's own speak TLS. */
  kafka_tls: boolean;
  spool_dir: string;
  admin_ports: Record<string, number>;
  own: OwnServers;
}
