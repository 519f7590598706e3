import { beforeSql, sinceSql } from '../../platform/clickhouse/event-time.ts';
import { KEPT_EVENTS } from '../../platform/clickhouse/kept-events.ts';
import { KEPT_MESSAGES } from '../../platform/clickhouse/kept-messages.ts';
import { PROFILE_COLUMNS } from '../../events/traits.ts';
import { audienceNames, compileAudience, type CompileContext } from '../../audiences/compile.ts';
import type { Audience } from '../../audiences/definition.ts';
import { EVENT_FIELDS } from '../../audiences/conditions/event-fields.ts';
import type { ExportFormat, ExportKind, ExportSpec } from './request.ts';

/** Of the table of outcomes: one row for each message that has one. */
const MESSAGE_COLUMNS = [
  ...['message_id', 'campaign_id', 'run_id', 'template_id', 'template_version', 'channel'],
  ...['category', 'person_id', 'user_id', 'address_hash', 'status', 'reason', 'provider'],
  ...['provider_message_id', 'planned_at', 'finished_at', 'attempts'],
];

const EVENT_COLUMNS = ['timestamp', 'received_at', ...Object.keys(EVENT_FIELDS)];
/** Columns whose text clients or providers choose. */
const TEXT_COLUMNS: ReadonlySet<string> = new Set([
  ...Object.entries(EVENT_FIELDS).flatMap(([name, kind]) =>
    kind === 'text' || kind === 'persian' ? [name] : [],
  ),
  ...['person', 'person_id', 'provider_message_id'],
  ...PROFILE_COLUMNS,
]);
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

/** Begins a text that a spreadsheet would run as a formula (OWASP CSV Injection). */
const FORMULA = String.raw`^[=+\\-@\\t\\r\\n＝＋－＠]`;
/** A number is no formula: phone numbers and negative numbers stay as they are. */
const NUMBER = String.raw`^[+-]?[0-9]+([.][0-9]+)?$`;

/**
 * A column in the file. In csv maps are JSON text, and a text that could be a formula begins with
 * an apostrophe.
 */
function cell(name: string, format: ExportFormat): string {
  if (format !== 'csv') return name;
  if (MAP_COLUMNS.has(name)) return `toJSONString(${name}) AS ${name}`;
  if (!TEXT_COLUMNS.has(name)) return name;
  return `if(match(${name}, '${FORMULA}') AND NOT match(${name}, '${NUMBER}'), concat('\\'', ${name}), ${name}) AS ${name}`;
}

const MAP_COLUMNS: ReadonlySet<string> = new Set([
  ...['properties', 'property_numbers', 'traits', 'trait_numbers'],
]);

/** The statement whose output is the export's file. Maps: objects in ndjson, JSON text in csv. */
export function compileExport(
  { kind, format, spec, audience }: ExportPlan,
  context: CompileContext,
): string {
  const { params, accountId } = context;
  // the inner SELECT, so that the conditions see the columns and not the cells
  const file = (columns: readonly string[], rows: string, names = '') =>
    `SELECT ${columns.map((name) => cell(name, format)).join(', ')} FROM (${names}SELECT ${columns.join(', ')} FROM ${rows}) FORMAT ${FORMATS[format]}`;
  const account = `account_id = ${params.whole(accountId)}`;
  if (kind === 'profiles' || kind === 'segment') {
    const where = audience ? `${account} AND (${compileAudience(audience, context)})` : account;
    const names = audienceNames(where, context);
    return file([...PERSON_COLUMNS, 'traits', 'trait_numbers'], `people WHERE ${where}`, names);
  }
  if (kind === 'messages')
    return file(MESSAGE_COLUMNS, `messages FINAL WHERE ${messagesWhere(spec, context)}`);
  const where = [account, KEPT_EVENTS];
  if (spec.from !== undefined) where.push(sinceSql(spec.from, params));
  if (spec.to !== undefined) where.push(beforeSql(spec.to, params));
  if (spec.events) where.push(params.isTextIn('event', spec.events));
  return file(
    [...EVENT_COLUMNS, 'properties', 'property_numbers'],
    `events WHERE ${where.join(' AND ')}`,
  );
}

/** Times are those of outcomes: a message has its outcome when it was planned, or later. */
function messagesWhere(spec: ExportSpec, { params, accountId }: CompileContext): string {
  const { from, to, campaignId, runId, statuses } = spec;
  const where = [`account_id = ${params.whole(accountId)}`, KEPT_MESSAGES];
  if (campaignId !== undefined) where.push(`campaign_id = ${params.bind('UInt64', campaignId)}`);
  if (runId !== undefined) where.push(`run_id = ${params.bind('UInt64', runId)}`);
  if (statuses) where.push(params.isTextIn('status', statuses));
  if (from !== undefined) where.push(`finished_at >= ${params.instant(from)}`);
  if (to !== undefined)
    where.push(`finished_at < ${params.instant(to)}`, `planned_at < ${params.instant(to)}`);
  return where.join(' AND ');
}
