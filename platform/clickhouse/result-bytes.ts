import { parseError } from '@clickhouse/client';
import { connect, isIP, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { splitHosts } from '../split-hosts.ts';
import { readTlsFiles, tlsPaths, type TlsFiles } from '../tls-files.ts';
import type { ClickhouseSettings } from './client.ts';
import { ResponseBody } from './response-body.ts';
import { requestBytes, type ResultRequest } from './result-request.ts';
import { shardDatabase, shardOf } from './shards.ts';

/** Bytes that are read from the connection at once. */
const READ_BYTES = 2 ** 18;
/** A connection that is silent for so long is given up, ms. */
const SILENCE_MS = 30_000;

export interface AccountStatement extends Omit<ResultRequest, 'database'> {
  /** Its data is read: with shards, on the server of the account. */
  accountId: number;
  signal: AbortSignal;
}

/**
 * Hands on the bytes of a large result as they come; they are written over as soon as `onBytes`
 * returns. This is no request of the client library, because Node's HTTP client copies what it
 * reads into memory of its own: the garbage collector that this keeps busy took a third of the time
 * of a result of 800 MB (docs/performance.md, "Events counted by threads").
 *
 * Of several hosts, the first one that answers is read. Resolves when the result is complete.
 * Rejects with the error of ClickHouse, of the connection, or of `onBytes`, or with the reason of
 * the signal.
 */
export async function readResultBytes(
  clickhouse: ClickhouseSettings,
  statement: AccountStatement,
  onBytes: (bytes: Uint8Array) => void,
): Promise<void> {
  const { urls, database } = serversOf(clickhouse, statement.accountId);
  const tls = readTlsFiles(tlsPaths(clickhouse, 'CLICKHOUSE'));
  for (const [at, url] of urls.entries()) {
    const answer = await ask(
      { url, tls, signal: statement.signal },
      { bytes: requestBytes(url, { ...statement, database }), onBytes },
    );
    if (answer === 'complete') return;
    statement.signal.throwIfAborted();
    if (at === urls.length - 1 || answer.hasAnswered) throw answer.error;
  }
}

function serversOf(
  { CLICKHOUSE_URL, CLICKHOUSE_DATABASE, CLICKHOUSE_SHARDS }: ClickhouseSettings,
  accountId: number,
): { urls: URL[]; database: string } {
  const urls = splitHosts(CLICKHOUSE_URL).map((url) => new URL(url));
  if (!CLICKHOUSE_SHARDS) return { urls, database: CLICKHOUSE_DATABASE };
  const shard = shardOf(accountId, urls.length);
  return { urls: urls.slice(shard, shard + 1), database: shardDatabase(CLICKHOUSE_DATABASE) };
}

interface Server {
  url: URL;
  tls: TlsFiles;
  signal: AbortSignal;
}

type Answer = 'complete' | { error: Error; hasAnswered: boolean };

async function ask(
  server: Server,
  { bytes, onBytes }: { bytes: Buffer; onBytes: (bytes: Uint8Array) => void },
): Promise<Answer> {
  const body = new ResponseBody(onBytes);
  let failure: Error | undefined;
  const socket = open(server, (piece) => {
    try {
      body.read(piece);
    } catch (error) {
      failure ??= error as Error;
    }
    if (failure !== undefined || body.isComplete) socket.destroy();
    return true;
  });
  const abort = () => socket.destroy(server.signal.reason as Error);
  server.signal.addEventListener('abort', abort, { once: true });
  await new Promise<void>((resolve) => {
    socket.setTimeout(SILENCE_MS, () =>
      socket.destroy(new Error(`ClickHouse was silent for ${SILENCE_MS} ms`)),
    );
    socket.once('error', (error) => (failure ??= error));
    socket.once('close', () => resolve());
    socket.write(bytes);
    if (server.signal.aborted) abort();
  });
  server.signal.removeEventListener('abort', abort);
  const hasAnswered = body.status !== 0;
  if (failure) return { error: failure, hasAnswered };
  if (!body.isComplete)
    return { error: new Error('the connection to ClickHouse ended within a result'), hasAnswered };
  return body.status === 200 ? 'complete' : { error: parseError(body.text()), hasAnswered };
}

function open({ url, tls }: Server, callback: (piece: Uint8Array) => boolean): Socket {
  const buffer = new Uint8Array(READ_BYTES);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isSecure = url.protocol === 'https:';
  const options: TcpNetConnectOpts = {
    ...{ host, port: Number(url.port) || (isSecure ? 443 : 80), noDelay: true },
    onread: { buffer, callback: (bytes) => callback(buffer.subarray(0, bytes)) },
  };
  if (!isSecure) return connect(options);
  return connectTls({ ...options, ...tls, ...(isIP(host) ? {} : { servername: host }) });
}
