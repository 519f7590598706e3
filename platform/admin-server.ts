import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Gauge, type Registry } from 'prom-client';
import { collectProcessMetrics } from './metrics.ts';
import { errorText, redactText } from './redaction/redact-text.ts';
import type { Address } from './setting-kinds.ts';

export interface AdminServer {
  address: Address;
  close(): Promise<void>;
}

/** A page of the admin port in addition to the three that every service has. */
export type AdminPage = (query: URLSearchParams) => Promise<{ contentType: string; body: string }>;

/** By path, such as /spool. */
export type AdminPages = Readonly<Record<string, AdminPage>>;

interface AdminOptions {
  address: Address;
  registry: Registry;
  /** Problems that keep the service from working; empty: ready. */
  notReady: () => string[];
  pages?: AdminPages;
}

/**
 * The port for operators: /metrics for Prometheus, /healthz (the process runs), /readyz (200 when
 * it can work, otherwise 503 with the reasons). Never public.
 */
export async function startAdminServer(options: AdminOptions): Promise<AdminServer> {
  registerProcessMetrics(options);
  const pages: Record<string, AdminPage> = {
    '/metrics': async () => ({
      contentType: options.registry.contentType,
      body: await options.registry.metrics(),
    }),
    ...options.pages,
  };
  const server = createServer((request, response) => {
    const [path = '', query] = (request.url ?? '').split('?');
    const send = (status: number, contentType: string, body: string) => {
      response.writeHead(status, { 'content-type': contentType }).end(body);
    };
    if (path === '/healthz') return send(200, 'text/plain', 'ok\n');
    if (path === '/readyz') {
      const problems = options.notReady();
      return problems.length === 0
        ? send(200, 'text/plain', 'ready\n')
        : send(503, 'text/plain', `${redactText(problems.join('\n'))}\n`);
    }
    const page = pages[path];
    if (!page)
      return send(
        404,
        'text/plain',
        `${['/healthz', '/readyz', ...Object.keys(pages)].join('\n')}\n`,
      );
    page(new URLSearchParams(query)).then(
      ({ contentType, body }) => send(200, contentType, body),
      (error: unknown) => send(500, 'text/plain', `${errorText(error)}\n`),
    );
  });
  server.requestTimeout = 10_000;
  // Rejects when the server emits `error`.
  await once(server.listen(options.address.port, options.address.host), 'listening');
  const bound = server.address() as AddressInfo;
  return {
    address: { host: options.address.host, port: bound.port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The metrics of every service: its process, and whether it is ready. */
function registerProcessMetrics({ registry, notReady }: AdminOptions): void {
  if (!registry.getSingleMetric('ravand_process_start_time_seconds'))
    collectProcessMetrics(registry);
  if (registry.getSingleMetric('ravand_ready')) return;
  new Gauge({
    name: 'ravand_ready',
    help: '1 while the service can work; 0: /readyz says why it cannot.',
    registers: [registry],
    collect() {
      this.set(notReady().length === 0 ? 1 : 0);
    },
  });
}
