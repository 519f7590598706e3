import { isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { destinationOf, type OutboundGuard } from './guard.ts';
import { connectGuarded } from './guarded-socket.ts';

/** The server offers no HTTP/2; nothing was sent. */
export class SpeaksHttp1 extends Error {
  constructor() {
    super('the server does not speak HTTP/2');
    this.name = 'SpeaksHttp1';
  }
}

/**
 * An encrypted connection to the host of an https URL that passed guardedUrl, on which the server
 * agreed to speak HTTP/2. Rejects with SpeaksHttp1, AddressRefused, the signal's reason, or the
 * error of the system or of TLS.
 */
export async function connectHttp2(
  url: URL,
  options: { guard: OutboundGuard; timeout: number; signal: AbortSignal },
): Promise<Socket> {
  const { host, port } = destinationOf(url);
  // guardedUrl checked the port.
  const socket = await connectGuarded({ ...options, host, port, allowsPort: () => true });
  // Its errors are those of the encrypted connection.
  socket.on('error', () => undefined);
  const name = host.replace(/^\[(.*)\]$/, '$1');
  const encrypted = connect({
    socket,
    // Certificates are checked against it.
    host: name,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ALPNProtocols: ['h2', 'http/1.1'],
  });
  await secured(encrypted, options.signal);
  if (encrypted.alpnProtocol === 'h2') return encrypted;
  encrypted.destroy();
  throw new SpeaksHttp1();
}

function secured(socket: TLSSocket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = () => socket.destroy(signal.reason as Error);
    const stopWaiting = () => {
      signal.removeEventListener('abort', aborted);
      socket.off('error', failed);
      socket.off('close', closed);
    };
    const failed = (error: Error) => {
      stopWaiting();
      reject(error);
    };
    const closed = () => failed(new Error('the server closed the connection during its handshake'));
    socket.once('error', failed);
    socket.once('close', closed);
    socket.once('secureConnect', () => {
      stopWaiting();
      resolve();
    });
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) aborted();
  });
}
