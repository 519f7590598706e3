import { PROFILE_COLUMNS } from '../../events/traits.ts';
import { compileAudience, type CompileContext } from '../audiences/compile.ts';
import type { Audience } from '../audiences/definition.ts';
import { EVENT_FIELDS } from '../conditions/event-fields.ts';
import type { ExportFormat, ExportKind, ExportSpec } from './request.ts';

/**
 * Events that the platform writes about its messages, and the click that the web SDK sends
 * (ingest 6.1).
 */
const MESSAGE_EVENTS = [
  'message_sent',
  'message_failed',
  'message_withheld',
  'message_opened',
  'message_clicked',
];

const EVENT_COLUMNS = ['timestamp', 'received_at', ...Object.keys(EVENT_FIELDS)];
const PERSON_COLUMNS = [
  'person',
  'first_seen',
  'last_seen',
  'total_revenue',
  'order_count',
  'last_order_at',
  ...PROFILE_COLUMNS,
];

const FORMATS: Record<ExportFormat, string> = { ndjson: 'JSONEachRow', csv: 'CSVWithNames' };

export interface ExportPlan {
  kind: ExportKind;
  format: ExportFormat;
  spec: ExportSpec;
  /** Of kind segment. */
  audience?: Audience;
}

/** The statement whose output is the export's file. Maps: objects in ndjson, JSON text in csv. */
export function compileExport(
  { kind, format, spec, audience }: ExportPlan,
  context: CompileContext,
): string {
  const { params, accountId } = context;
  const maps = (names: readonly string[]) =>
    names.map((name) => (format === 'csv' ? `toJSONString(${name}) AS ${name}` : name));
  const account = `account_id = ${params.whole(accountId)}`;
  if (kind === 'profiles' || kind === 'segment') {
    const where = audience ? `${account} AND (${compileAudience(audience, context)})` : account;
    return `SELECT ${[...PERSON_COLUMNS, ...maps(['traits', 'trait_numbers'])].join(', ')} FROM people WHERE ${where} FORMAT ${FORMATS[format]}`;
  }
  const where = [account];
  if (spec.from !== undefined) where.push(`timestamp >= ${params.instant(spec.from)}`);
  if (spec.to !== undefined) where.push(`timestamp < ${params.instant(spec.to)}`);
  if (spec.events) where.push(`event IN ${params.bind('Array(String)', spec.events)}`);
  if (kind === 'messages') where.push(`event IN ${params.bind('Array(String)', MESSAGE_EVENTS)}`);
  return `SELECT ${[...EVENT_COLUMNS, ...maps(['properties', 'property_numbers'])].join(', ')} FROM events WHERE ${where.join(' AND ')} FORMAT ${FORMATS[format]}`;
}
