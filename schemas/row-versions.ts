import type avsc from 'avsc';
import { allSchemas, fingerprintOf, singleObjectHeader } from './codec.ts';
import type { LoadedSchema } from './load.ts';

export interface RowField {
  name: string;
  type: avsc.Schema;
  default?: unknown;
}

/** A version of event-row, and of the normalised-run that embeds it. */
export interface RowVersion {
  version: number;
  /** Of one row. */
  type: avsc.Type;
  fields: readonly RowField[];
  /** Of a row batch. */
  batch: avsc.Type;
  /** Fingerprint of the row batch, as 16 hexadecimal digits. */
  fingerprint: string;
  /** The ten bytes before a row batch. */
  header: Buffer;
}

/** Every version, the lowest first. */
export const ROW_VERSIONS: readonly RowVersion[] = rowVersionsOf(allSchemas());

/**
 * Throws unless each version has the fields of its predecessor, followed by new ones with a
 * default: the encoder writes a row of any version by adding to the previous one.
 */
export function rowVersionsOf(schemas: readonly LoadedSchema[]): RowVersion[] {
  const rows = schemas.filter(({ subject }) => subject === 'event-row');
  return schemas
    .filter(({ subject }) => subject === 'normalised-run')
    .map(({ version, type: batch }) => {
      const row = rows.findLast((one) => one.version <= version);
      const before = rows.findLast((one) => one.version < (row?.version ?? 0));
      if (!row) throw new Error(`normalised-run.v${version} embeds no event-row`);
      const fields = fieldsOf(row);
      if (before) requireAddition(row.id, fieldsOf(before), fields);
      const fingerprint = fingerprintOf(batch);
      return {
        version,
        type: row.type,
        fields,
        batch,
        fingerprint,
        header: singleObjectHeader(batch),
      };
    });
}

function fieldsOf({ document }: LoadedSchema): readonly RowField[] {
  return (document as { fields: RowField[] }).fields;
}

function requireAddition(
  id: string,
  before: readonly RowField[],
  fields: readonly RowField[],
): void {
  const isPrefix = before.every(
    (field, at) => JSON.stringify(nameAndType(field)) === JSON.stringify(nameAndType(fields[at])),
  );
  if (!isPrefix || fields.slice(before.length).some((field) => field.default === undefined))
    throw new Error(
      `schemas/${id}.avsc: keep the fields of the version before it, and add new ones with a default at the end`,
    );
}

function nameAndType(field: RowField | undefined): unknown[] {
  return [field?.name, field?.type];
}

const newest = ROW_VERSIONS.at(-1);
if (!newest) throw new Error('schemas/ holds no event-row.v*.avsc');

export const NEWEST_ROW_VERSION: number = newest.version;

const byVersion = new Map(ROW_VERSIONS.map((one) => [one.version, one]));
const byFingerprint = new Map(ROW_VERSIONS.map((one) => [one.fingerprint, one]));

/** Throws RangeError for a version that schemas/ does not hold. */
export function rowVersion(version: number): RowVersion {
  const found = byVersion.get(version);
  if (!found) throw new RangeError(`schemas/ holds no version ${version} of event-row`);
  return found;
}

/** The version of row batches with this fingerprint. */
export function rowVersionOf(fingerprint: string): RowVersion | undefined {
  return byFingerprint.get(fingerprint);
}
