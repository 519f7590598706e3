import { isJsonObject, type JsonObject } from '../../events/json.ts';
import { normaliseEventName } from '../../events/event-name.ts';
import { parseRfc3339 } from '../../events/rfc3339.ts';
import type { DomainError } from '../errors/domain-error.ts';
import { pathId } from '../../platform/http/path-id.ts';
import { startOfDay } from '../conditions/time-zone.ts';

const DAY = 86_400_000;
const MAX_NAMES = 1000;

export const EXPORT_KINDS = ['events', 'messages', 'profiles', 'segment'] as const;
export type ExportKind = (typeof EXPORT_KINDS)[number];
export const EXPORT_FORMATS = ['ndjson', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/**
 * What an export holds, as it was read: times in ms since the epoch, event names as they are
 * stored.
 */
export interface ExportSpec {
  from?: number;
  to?: number;
  events?: string[];
  segmentId?: string;
}

export interface ExportDraft {
  kind: ExportKind;
  format: ExportFormat;
  /** As the client sent it; read again when the job runs. */
  spec: JsonObject;
}

export type ReadDraft =
  { ok: true; draft: ExportDraft; spec: ExportSpec } | { ok: false; error: DomainError };

/** Reads the body of POST /v1/exports (management 4.2): `{kind, format?, spec?}`. */
export function readExport(body: unknown): ReadDraft {
  if (!isJsonObject(body)) return refused({ code: 'malformed_json' });
  const kind = EXPORT_KINDS.find((known) => known === body['kind']);
  if (kind === undefined) return refused({ code: 'export_kind_invalid' });
  const format = EXPORT_FORMATS.find((known) => known === (body['format'] ?? 'ndjson'));
  if (format === undefined) return invalid('format must be ndjson or csv');
  const sent = body['spec'] ?? {};
  if (!isJsonObject(sent)) return invalid('spec must be an object');
  const spec = readSpec(kind, sent);
  return typeof spec === 'string'
    ? invalid(spec)
    : { ok: true, draft: { kind, format, spec: sent }, spec };
}

/** The spec of a kind, or the sentence that says what is wrong. Other keys are ignored. */
export function readSpec(kind: ExportKind, sent: JsonObject): ExportSpec | string {
  if (kind === 'profiles') return {};
  if (kind === 'segment') {
    const segmentId = pathId(idText(sent['segment_id']));
    return segmentId === undefined ? 'spec.segment_id must be the id of a segment' : { segmentId };
  }
  const [from, to] = [readInstant(sent['from']), readInstant(sent['to'])];
  if (Number.isNaN(from) || Number.isNaN(to))
    return 'spec.from and spec.to must be RFC 3339 or YYYY-MM-DD';
  const events = readNames(sent['events']);
  if (events === null) return `spec.events must be a list of at most ${MAX_NAMES} event names`;
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(events === undefined ? {} : { events }),
  };
}

function idText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Undefined: absent. NaN: not readable. A day means its start in Tehran. */
function readInstant(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return NaN;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(value);
  const instant = parseRfc3339(isDay ? `${value}T00:00:00Z` : value);
  return isDay && !Number.isNaN(instant) ? startOfDay(instant / DAY, 'Asia/Tehran') : instant;
}

/** Null: not readable. */
function readNames(value: unknown): string[] | undefined | null {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || value.length > MAX_NAMES) return null;
  const names = value
    .filter((name): name is string => typeof name === 'string')
    .map(normaliseEventName);
  return names.length === value.length && !names.includes('') ? names : null;
}

function invalid(message: string): ReadDraft {
  return refused({ code: 'export_spec_invalid', message });
}

function refused(error: DomainError): ReadDraft {
  return { ok: false, error };
}
