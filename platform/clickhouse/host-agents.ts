import { Agent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { TlsFiles } from '../tls-files.ts';
import { HostChoice, type Host } from './host-choice.ts';

/** A host that accepts no connection within this time is passed over, with TLS included, ms. */
const CONNECT_MS = 3000;

type Connected = (error: Error | null, socket?: Duplex) => void;

interface Hosts {
  urls: readonly URL[];
  tls: TlsFiles;
  agent: AgentOptions;
}

/**
 * An agent whose connections go to the first of several hosts that answers. Requests on a
 * connection that fails are not repeated: their callers decide.
 */
export function hostAgent({ urls, tls, agent }: Hosts): Agent {
  const isSecure = urls[0]?.protocol === 'https:';
  const choice = new HostChoice(
    urls.map((url) => ({
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(url.port) || (isSecure ? 443 : 80),
    })),
    () => performance.now(),
  );
  const open = (_: ClientRequestArgs, connected?: Connected) => {
    connectToOne({ choice, tls: isSecure ? tls : undefined }).then(
      (socket) => connected?.(null, socket),
      (error: unknown) => connected?.(error as Error),
    );
    return undefined;
  };
  const made = isSecure ? new SecureAgent(agent) : new Agent(agent);
  return Object.assign(made, { createConnection: open });
}

async function connectToOne(to: {
  choice: HostChoice;
  tls: TlsFiles | undefined;
}): Promise<Socket> {
  let failure: unknown;
  for (const host of to.choice.order()) {
    try {
      const socket = await connectTo(host, to.tls);
      watch(socket, () => to.choice.failed(host));
      return socket;
    } catch (error) {
      to.choice.failed(host);
      failure = error;
    }
  }
  throw failure;
}

function connectTo(host: Host, tls: TlsFiles | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket: Socket | TLSSocket = tls
      ? connectTls({
          ...host,
          ...tls,
          ...(isIP(host.host) ? {} : { servername: host.host }),
          ALPNProtocols: ['http/1.1'],
        })
      : connect(host);
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(
      () =>
        fail(new Error(`ClickHouse at ${host.host}:${host.port} accepted no connection in time`)),
      CONNECT_MS,
    );
    socket.once('error', fail);
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

/** Calls `failed` when the connection ends although what was sent on it was never answered. */
function watch(socket: Socket, failed: () => void): void {
  const readBefore = socket.bytesRead;
  const writtenBefore = socket.bytesWritten;
  socket.once('close', () => {
    if (socket.bytesRead === readBefore && socket.bytesWritten > writtenBefore) failed();
  });
}
