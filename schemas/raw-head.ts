import avsc from 'avsc';
import {
  allSchemas,
  carriedFingerprint,
  fingerprintOf,
  HEADER_BYTES,
  singleObjectHeader,
} from './codec.ts';
import type { RawRecord } from './records.ts';
import { readZigzag } from './varint.ts';

/** Where the events of a raw record were before. */
type RawHead = Pick<RawRecord, 'redriven_from'>;

const versions = allSchemas().filter(({ subject }) => subject === 'raw-record');
const newest = versions.at(-1);
if (!newest) throw new Error('schemas/ holds no raw-record.v*.avsc');
const type = avsc.Type.forSchema({
  type: 'record',
  name: newest.type.name ?? '',
  fields: (newest.document as { fields: { name: string; type: avsc.Schema }[] }).fields.filter(
    ({ name }) => name === 'redriven_from',
  ),
});
const resolvers = new Map(
  versions.map((version) => [fingerprintOf(version.type), type.createResolver(version.type)]),
);

const headers = versions.map(({ type: of }) => singleObjectHeader(of));

/** Account of a raw record, its first field in every version; undefined as for rawHeadOf. */
export function rawAccountOf(bytes: Buffer): number | undefined {
  if (bytes.length <= HEADER_BYTES) return undefined;
  const isRaw = headers.some((header) => header.compare(bytes, 0, HEADER_BYTES) === 0);
  return isRaw ? readZigzag(bytes, HEADER_BYTES).value : undefined;
}

/**
 * Some fields of a raw record, without decoding the others; undefined: another schema, or damaged.
 */
export function rawHeadOf(bytes: Buffer): RawHead | undefined {
  try {
    const resolver = resolvers.get(carriedFingerprint(bytes));
    return resolver && (type.decode(bytes, HEADER_BYTES, resolver).value as RawHead | undefined);
  } catch {
    return undefined;
  }
}
