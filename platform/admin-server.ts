import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import type { Address } from './setting-kinds.ts';

export interface AdminServer {
  address: Address;
  close(): Promise<void>;
}

/** A page of the admin port beside the three that every part has. */
export type AdminPage = (query: URLSearchParams) => Promise<{ contentType: string; body: string }>;

interface AdminOptions {
  address: Address;
  registry: Registry;
  /** Problems that keep the part from working; empty means ready. */
  notReady: () => string[];
  pages?: Readonly<Record<string, AdminPage>>;
}

/**
 * The port for operators: /metrics for Prometheus, /healthz (the process runs), /readyz (it can
 * work, otherwise 503 with the reasons). Never public.
 */
export async function startAdminServer(options: AdminOptions): Promise<AdminServer> {
  tellOfTheProcess(options);
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
        : send(503, 'text/plain', `${problems.join('\n')}\n`);
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
      (error: unknown) =>
        send(500, 'text/plain', `${error instanceof Error ? error.message : String(error)}\n`),
    );
  });
  server.requestTimeout = 10_000;
  await listen(server, options.address);
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

/**
 * What every part tells of itself, whatever else it measures: its process, and whether it can work.
 */
function tellOfTheProcess({ registry, notReady }: AdminOptions): void {
  if (!registry.getSingleMetric('process_start_time_seconds'))
    collectDefaultMetrics({ register: registry });
  if (registry.getSingleMetric('ravand_ready')) return;
  new Gauge({
    name: 'ravand_ready',
    help: '1 while the part can work; 0: /readyz says why it cannot.',
    registers: [registry],
    collect() {
      this.set(notReady().length === 0 ? 1 : 0);
    },
  });
}

async function listen(server: Server, { host, port }: Address): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}
