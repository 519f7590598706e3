import avro from 'avsc';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';

/** A record of a topic as it is archived. */
export interface ArchivedRecord {
  offset: number;
  /** Log append time, ms since the epoch. */
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
}

/** An Avro object container file: any Avro reader reads it. */
const SCHEMA = avro.Type.forSchema({
  type: 'record',
  name: 'LogRecord',
  namespace: 'ravand.archive',
  fields: [
    { name: 'offset', type: 'long' },
    { name: 'timestamp', type: { type: 'long', logicalType: 'timestamp-millis' } },
    { name: 'key', type: ['null', 'bytes'] },
    { name: 'value', type: ['null', 'bytes'] },
  ],
});
const CODEC = 'zstandard';
const BLOCK_BYTES = 2 ** 20;

type Done = (error: Error | null, result?: Buffer) => void;

export async function encodeObject(records: readonly ArchivedRecord[]): Promise<Buffer> {
  const encoder = new avro.streams.BlockEncoder(SCHEMA, {
    blockSize: BLOCK_BYTES,
    codec: CODEC,
    codecs: { [CODEC]: zstdCompress as (bytes: Buffer, done: Done) => void },
  });
  const encoded = buffer(encoder);
  Readable.from(records).pipe(encoder);
  return await encoded;
}

const decompress = promisify(zstdDecompress);

/** Rejects when the object is not whole. */
export async function decodeObject(bytes: Buffer): Promise<ArchivedRecord[]> {
  const decoder = new avro.streams.BlockDecoder({
    codecs: {
      [CODEC]: (compressed: Buffer, done: Done) => {
        decompress(compressed).then(
          (found) => done(null, found),
          (error: unknown) => done(error as Error),
        );
      },
    },
  });
  const records: ArchivedRecord[] = [];
  decoder.on('data', (record: ArchivedRecord) => records.push({ ...record }));
  const ended = new Promise<void>((resolve, reject) => {
    decoder.once('end', resolve).once('error', reject);
  });
  decoder.end(bytes);
  await ended;
  return records;
}
