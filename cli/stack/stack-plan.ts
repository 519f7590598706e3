/** Ports of the servers this stack runs; undefined for an external server. */
export interface OwnServers {
  kafka: { port: number; controllerPort: number } | undefined;
  clickhouse: { port: number } | undefined;
  postgres: { port: number } | undefined;
  redis: { port: number } | undefined;
}

/** Addresses of a stack, in run/stack.json. Mode 0600: the URLs may contain passwords. */
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
  /** The settings that each service reads, by its name: it gets no other in its environment. */
  settings: Record<string, readonly string[]>;
  own: OwnServers;
}
