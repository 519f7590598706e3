import { createHash } from 'node:crypto';
import { allSchemas } from '../../schemas/codec.ts';
import { writeVarint } from '../../schemas/varint.ts';

/** Fields of event-row that go to profiles only: ClickHouse `events` has no such columns. */
const NOT_STORED = new Set(['traits', 'trait_numbers', 'profile']);

const newest = allSchemas().findLast(({ subject }) => subject === 'event-row');
if (!newest) throw new Error('schemas/ holds no event-row.v*.avsc');
const document = newest.document as { fields: { name: string }[] };

/** Columns of ClickHouse `events` that an insert names, in the order of the schema. */
export const COLUMNS: readonly string[] = document.fields
  .map(({ name }) => name)
  .filter((name) => !NOT_STORED.has(name));

const MAGIC = Buffer.from('Obj\u0001', 'latin1');
const SYNC_BYTES = 16;

function metadata(entries: Record<string, string>): Buffer {
  const parts = Object.entries(entries).flatMap(([key, value]) => [
    lengthAndBytes(key),
    lengthAndBytes(value),
  ]);
  return Buffer.concat([writeVarint(Object.keys(entries).length), ...parts, writeVarint(0)]);
}

function lengthAndBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([writeVarint(bytes.length), bytes]);
}

const META = metadata({
  'avro.schema': JSON.stringify(newest.type.schema()),
  'avro.codec': 'null',
});

/**
 * An Avro object container of one block that holds datums of the newest event-row as they are,
 * without decoding them (Avro 1.12, "Object Container Files"). The sync marker comes from the
 * token, so the same rows under the same token are the same bytes.
 */
export function container(options: {
  token: string;
  count: number;
  datums: readonly Buffer[];
}): Buffer {
  const sync = createHash('sha256').update(options.token).digest().subarray(0, SYNC_BYTES);
  const size = options.datums.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([
    MAGIC,
    META,
    sync,
    writeVarint(options.count),
    writeVarint(size),
    ...options.datums,
    sync,
  ]);
}
