import { connect } from 'node:tls';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { atEnd } from '../../outbound/receivers.ts';
import type { Http2Request, Http2Result } from '../exchange.ts';
import { SessionPool, type PoolLimits } from '../session-pool.ts';

const LIMITS: PoolLimits = {
  maxSessions: 1,
  maxWaiting: 1000,
  connectMs: 5000,
  reconnectMs: 10,
  quietMs: 60_000,
  pingMs: 5000,
  idleMs: 60_000,
  sweepMs: 5,
};

/** A pool whose connections go to a port of this machine without any guard. */
export function poolTo(port: number, limits: Partial<PoolLimits> = {}): SessionPool {
  const pool = new SessionPool({
    authority: `localhost:${port}`,
    async connect(signal) {
      const socket = connect({ port, host: 'localhost', ALPNProtocols: ['h2'] });
      socket.on('error', () => undefined);
      await once(socket, 'secureConnect', { signal });
      return socket;
    },
    limits: { ...LIMITS, ...limits },
    now: () => performance.now(),
  });
  atEnd(() => pool.close());
  return pool;
}

export function request(path = '/', body = '{}'): Http2Request {
  return { path, shared: [], headers: [], body: Buffer.from(body) };
}

export function post(
  pool: SessionPool,
  sent: Http2Request = request(),
  options: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<Http2Result> {
  return pool.request(sent, { timeoutMs: 10_000, ...options });
}

/** The status of an answer, or what became of the request otherwise. */
export function outcome(result: Http2Result): number | string {
  return result.kind === 'answered' ? result.status : result.kind;
}
