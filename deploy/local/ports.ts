import { createServer } from 'node:net';

/** Below the ephemeral ports: no outgoing connection can occupy a service's port. */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const ATTEMPTS = 200;

interface Choice {
  /** Tried first, in this order. */
  preferred: readonly number[];
  isFree: (port: number) => Promise<boolean>;
  random: () => number;
}

/**
 * The first preferred port that is free, or a random free one. Throws when it finds none.
 */
export async function choosePort({ preferred, isFree, random }: Choice): Promise<number> {
  for (const port of preferred) if (await isFree(port)) return port;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST_PORT + Math.floor(random() * (LAST_PORT - FIRST_PORT));
    if (!preferred.includes(port) && (await isFree(port))) return port;
  }
  throw new Error(
    `none of ${ATTEMPTS} ports between ${FIRST_PORT} and ${LAST_PORT} is free: stop what uses them`,
  );
}

/** Whether a server could listen there now. `localhost` stands for both of its addresses. */
export async function isPortFree(host: string, port: number): Promise<boolean> {
  const hosts = host === 'localhost' ? ['127.0.0.1', '::1'] : [host];
  for (const one of hosts) if (!(await canListen(one, port))) return false;
  return true;
}

async function canListen(host: string, port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      // A machine without IPv6 has no ::1: nothing can listen there.
      resolve(host === '::1' && (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT'));
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}
