import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { freePort } from '../service-process.ts';
import { Aborted, eventually } from '../stack.ts';
import type { Certificate } from './certificates.ts';
import { OwnProcess } from './own-process.ts';

export const REDIS_PASSWORD = 'redis-secret';

export interface RunningRedis {
  port: number;
  process: OwnProcess;
  /** Once it has ended: again with its files, on its port. */
  restart(): Promise<void>;
}

/** A redis-server, or with `sentinel` a Sentinel, of these settings, which it may rewrite. */
export async function startRedis(of: {
  folder: string;
  settings: (port: number) => Readonly<Record<string, string | number>>;
  sentinel?: boolean;
  isUp: (port: number) => Redis;
}): Promise<RunningRedis> {
  const port = await freePort();
  const dir = join(of.folder, `redis-${port}`);
  mkdirSync(dir, { recursive: true });
  const file = join(dir, 'redis.conf');
  const all = { bind: '127.0.0.1', dir, ...of.settings(port) };
  writeFileSync(
    file,
    Object.entries(all)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(''),
  );
  const up = async () => {
    const started = new OwnProcess('redis-server', [
      file,
      ...(of.sentinel === true ? ['--sentinel'] : []),
    ]);
    const client = of.isUp(port);
    client.on('error', () => undefined);
    try {
      await eventually({ ms: 20_000, every: 50, waitingFor: 'Redis to answer' }, async () => {
        if (!started.isRunning) throw new Aborted(`redis-server ended: ${started.log}`);
        await client.ping();
        return true;
      });
    } finally {
      client.disconnect();
    }
    return started;
  };
  const running: RunningRedis = {
    port,
    process: await up(),
    async restart() {
      running.process = await up();
    },
  };
  return running;
}

/** What makes a server speak TLS only, also to its replicas. */
export function tlsSettings(
  port: number,
  { ca, certificate }: { ca: string; certificate: Certificate },
): Record<string, string | number> {
  return {
    port: 0,
    'tls-port': port,
    'tls-cert-file': certificate.cert,
    'tls-key-file': certificate.key,
    'tls-ca-cert-file': ca,
    'tls-auth-clients': 'yes',
    'tls-replication': 'yes',
  };
}
