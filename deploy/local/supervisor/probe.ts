import { get } from 'node:http';
import { get as getSecure } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Address } from '../../../platform/setting-kinds.ts';
import type { TlsFiles } from '../../../platform/tls-files.ts';
import type { Readiness } from '../services/service.ts';

/**
 * Sends a request that a hung process cannot answer although its port is open. Resolves within
 * `timeout` ms and never rejects.
 */
export async function probe(readiness: Readiness, timeout: number): Promise<boolean> {
  switch (readiness.kind) {
    case 'http':
      return await probeHttp(readiness, timeout);
    case 'kafka':
      // With TLS a completed handshake is enough.
      return await exchange({ ...readiness, timeout, ...(readiness.tls ? {} : KAFKA) });
    case 'postgres':
      return await exchange({ ...readiness, tls: undefined, timeout, ...POSTGRES });
    case 'redis':
      return await exchange({ ...readiness, timeout, ...REDIS });
  }
}

/** A request, and which answers mean that the server is up. */
type Question = Pick<Exchange, 'say' | 'accept'>;

/**
 * ApiVersions v0 without a client id, correlation id 7: every broker answers it before
 * authentication.
 */
const KAFKA: Question = {
  say: Buffer.from([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff]),
  accept: (answer) =>
    answer.length >= 10 && answer.readInt32BE(4) === 7 && answer.readInt16BE(8) === 0,
};
const POSTGRES: Question = {
  say: Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]),
  accept: (answer) => /^[SN]/.test(answer.toString('latin1')),
};
/** A server that asks for a password is up; one that is loading its data is not. */
const REDIS: Question = {
  say: Buffer.from('PING\r\n'),
  accept: (answer) => /^(\+PONG|-NOAUTH)/.test(answer.toString('latin1')),
};

async function probeHttp({ url, tls }: HttpProbe, timeout: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const target = new URL(url);
    const request = (target.protocol === 'https:' ? getSecure : get)(
      target,
      { agent: false, signal: AbortSignal.timeout(timeout), ...tls },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    request.on('error', () => resolve(false));
  });
}

type HttpProbe = Extract<Readiness, { kind: 'http' }>;

interface Exchange {
  address: Address;
  tls: TlsFiles | undefined;
  timeout: number;
  say?: Buffer;
  accept?: (answer: Buffer) => boolean;
}

async function exchange({ address, tls, timeout, say, accept }: Exchange): Promise<boolean> {
  return await new Promise((resolve) => {
    const end = (up: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(up);
    };
    const opened = () => (say ? void socket.write(say) : end(true));
    const socket: Socket = tls
      ? connectTls(
          {
            ...{ host: address.host, port: address.port, ...tls },
            ...(isIP(address.host) ? {} : { servername: address.host }),
          },
          opened,
        )
      : connect({ host: address.host, port: address.port }, opened);
    const timer = setTimeout(() => end(false), timeout);
    let answer = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      answer = Buffer.concat([answer, data]);
      if (accept?.(answer) === true) end(true);
      else if (answer.length > 4096) end(false);
    });
    socket.on('error', () => end(false));
    socket.on('close', () => end(false));
  });
}
