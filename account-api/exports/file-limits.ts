import { Readable } from 'node:stream';
import type { ExportFiles } from '../../platform/files/folder-files.ts';
import type { RowCounter } from './row-counter.ts';

/** The job fails on every retry; the message is for the client. */
export class ExportImpossible extends Error {}

export interface FileLimits {
  /** Export files of one account, bytes; also in S3. */
  maxAccountBytes: number;
  /** Space that files leave in the folder, bytes. */
  minFreeBytes: number;
}

/** Bytes between two looks at the free space. */
const CHECK_BYTES = 16 * 2 ** 20;

interface Limited extends FileLimits {
  counter: RowCounter;
  /** The other files of the account, bytes. */
  storedBytes: number;
  files: Pick<ExportFiles, 'freeBytes'>;
}

/**
 * Counts what passes and fails when the file would exceed a limit. Reads nothing before the writer
 * does. An error of the source (ClickHouse breaks the connection when a query fails midway) reaches
 * the writer, so that no truncated file becomes ready.
 */
export function limitedFile(source: Readable, limits: Limited): Readable {
  // the writer gets the error when it reads; without a listener it would end the process before
  source.on('error', () => undefined);
  return Readable.from(limitedChunks(source, limits), { objectMode: false });
}

async function* limitedChunks(source: Readable, limits: Limited): AsyncGenerator<Buffer> {
  const { counter, storedBytes, maxAccountBytes } = limits;
  let checkAt = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (storedBytes + counter.bytes + chunk.length > maxAccountBytes)
      throw new ExportImpossible(
        `the export files of this account would exceed ${maxAccountBytes} bytes, of which ${storedBytes} are used; export less, or wait until older files expire`,
      );
    if (counter.bytes >= checkAt) {
      await rejectFullStore(limits);
      checkAt = counter.bytes + CHECK_BYTES;
    }
    counter.count(chunk);
    yield chunk;
  }
}

async function rejectFullStore({ files, minFreeBytes }: Limited): Promise<void> {
  const free = await files.freeBytes();
  if (free < minFreeBytes + CHECK_BYTES)
    throw new Error(
      `the folder of export files has ${free} bytes left; EXPORT_MIN_FREE_BYTES keeps ${minFreeBytes}`,
    );
}
