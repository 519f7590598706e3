import { formatAddress } from '../../platform/setting-kinds.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import type { SandboxConfig } from './config.ts';
import { startHttpServer } from './http-server.ts';
import { startMailServer } from './mail-server.ts';
import { MessageStore } from './message-store.ts';
import { sandboxRoutes } from './routes.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };

/**
 * The sandbox of the local stack: takes messages as the providers' services do, sends them to
 * nobody, and shows the last 1,000.
 */
export async function start(context: ServiceContext<SandboxConfig>): Promise<void> {
  const { config, log, onShutdown } = context;
  const now = () => Date.now();
  const store = new MessageStore();
  const http = await startHttpServer({
    address: config.SANDBOX_ADDR ?? LOOPBACK,
    routes: sandboxRoutes({ store, now }),
  });
  onShutdown('HTTP listener', () => http.close());
  const mail = await startMailServer({
    address: config.SANDBOX_SMTP_ADDR ?? LOOPBACK,
    onMail: (message) => {
      store.add(message, now());
    },
  });
  onShutdown('SMTP listener', () => mail.close());
  const admin = await context.openAdminPort({ notReady: () => [] });
  const [page, smtp] = [http, mail].map(({ address }) => formatAddress(address));
  log.info({ admin, page, smtp }, 'the sandbox is running');
}
