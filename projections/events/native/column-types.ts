import type { RowField } from '../../../schemas/row-versions.ts';

/** Types of ClickHouse in which rows are inserted. */
export type ColumnType =
  | 'UInt16'
  | 'UInt32'
  | 'UInt64'
  | 'Int64'
  | "DateTime64(3, 'UTC')"
  | 'Bool'
  | 'Float64'
  | 'String'
  | 'LowCardinality(String)'
  | 'Map(LowCardinality(String), String)'
  | 'Map(LowCardinality(String), Float64)';

/** Fields of event-row that only profiles use: ClickHouse `events` has no such columns. */
const NOT_STORED = new Set(['traits', 'trait_numbers', 'profile']);

export function isStored(field: string): boolean {
  return !NOT_STORED.has(field);
}

/** Columns of `events` whose type does not follow from that of the field (ddl/). */
const TYPES: ReadonlyMap<string, ColumnType> = new Map(
  Object.entries({
    UInt16: ['_epoch', '_partition'],
    UInt32: ['_index', '_acceptance'],
    UInt64: ['_offset', 'account_id', 'app_id', 'campaign_id', 'journey_id'],
    "DateTime64(3, 'UTC')": ['timestamp', 'received_at'],
    'LowCardinality(String)': [
      ...['type', 'event', 'currency', 'source', 'browser_name', 'browser_version'],
      ...['library_name', 'library_version', 'app_version', 'device_type', 'device_model'],
      ...['device_vendor', 'push_provider', 'os_name', 'os_version', 'carrier', 'utm_source'],
      ...['utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'variant_id', 'locale'],
      ...['timezone', 'country', 'region', 'city'],
    ],
  } satisfies Partial<Record<ColumnType, string[]>>).flatMap(([type, names]) =>
    names.map((name) => [name, type as ColumnType]),
  ),
);

/** Of other fields: ClickHouse casts the values if its column has another type. */
const TYPE_OF: Readonly<Record<string, ColumnType>> = {
  int: 'Int64',
  long: 'Int64',
  boolean: 'Bool',
  double: 'Float64',
  string: 'String',
  'map of string': 'Map(LowCardinality(String), String)',
  'map of double': 'Map(LowCardinality(String), Float64)',
};

/** The type in which the values of a field are inserted. Throws TypeError when there is none. */
export function columnType({ name, type }: RowField): ColumnType {
  const found = TYPES.get(name) ?? TYPE_OF[avroType(type)];
  if (!found) throw new TypeError(`column-types.ts has no type for the field ${name}`);
  return found;
}

function avroType(type: RowField['type']): string {
  if (typeof type === 'string') return type;
  const { values } = type as { values?: unknown };
  return typeof values === 'string' ? `map of ${values}` : '';
}
