import Type, { type Static } from 'typebox';
import type { JsonObject } from '../../events/json.ts';
import { normaliseEventName } from '../../events/event-name.ts';
import { readInstant } from '../../audiences/conditions/read-test.ts';
import type { DomainError } from '../errors/domain-error.ts';
import { findViolation } from '../http/check-body.ts';
import { pathId } from '../../platform/http/path-id.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../schemas/records.ts';

const MAX_NAMES = 1000;

export const EXPORT_KINDS = ['events', 'messages', 'profiles', 'segment'] as const;
export type ExportKind = (typeof EXPORT_KINDS)[number];
export const EXPORT_FORMATS = ['ndjson', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The body of POST /v1/exports; properties in the order in which errors are reported. */
export const ExportBody = Type.Object(
  {
    kind: Type.Enum([...EXPORT_KINDS]),
    format: Type.Optional(Type.Enum([...EXPORT_FORMATS], { default: 'ndjson' })),
    spec: Type.Optional(
      Type.Object({
        from: Type.Optional(Type.String({ description: 'RFC 3339 or YYYY-MM-DD' })),
        to: Type.Optional(Type.String({ description: 'RFC 3339 or YYYY-MM-DD' })),
        events: Type.Optional(Type.Array(Type.String(), { maxItems: MAX_NAMES })),
        segment_id: Type.Optional(Type.Union([Type.Integer(), Type.String()])),
        campaign_id: Type.Optional(Type.Union([Type.Integer(), Type.String()])),
        run_id: Type.Optional(Type.Union([Type.Integer(), Type.String()])),
        status: Type.Optional(Type.Array(Type.Enum([...MESSAGE_STATUSES]))),
      }),
    ),
  },
  { $id: 'ExportRequest' },
);

/** What breaks the schema, by the property it concerns. */
const BY_SCHEMA: Readonly<Record<string, DomainError>> = {
  '': { code: 'malformed_json' },
  kind: { code: 'export_kind_invalid' },
  format: { code: 'export_spec_invalid', message: 'format must be ndjson or csv' },
  spec: { code: 'export_spec_invalid', message: 'spec must be an object' },
};

/** What an export holds, as read: times in epoch ms, event names as stored. */
export interface ExportSpec {
  from?: number;
  to?: number;
  events?: string[];
  segmentId?: string;
  /** Of kind messages. */
  campaignId?: string;
  runId?: string;
  statuses?: MessageStatus[];
}

export interface ExportDraft {
  kind: ExportKind;
  format: ExportFormat;
  /** As the client sent it, without keys that are ignored; read again when the job runs. */
  spec: JsonObject;
}

export type ReadDraft =
  { ok: true; draft: ExportDraft; spec: ExportSpec } | { ok: false; error: DomainError };

/** Reads the body of POST /v1/exports (management 4.2): `{kind, format?, spec?}`. */
export function readExport(body: unknown): ReadDraft {
  // each kind of export reads other keys of the spec
  const violation = findViolation(ExportBody, body, { stopAt: ['spec'] });
  if (violation)
    return { ok: false, error: BY_SCHEMA[violation.path] ?? { code: 'export_spec_invalid' } };
  const { kind, format, spec: sent } = body as Static<typeof ExportBody>;
  const spec = readSpec(kind, sent ?? {});
  if (typeof spec === 'string')
    return { ok: false, error: { code: 'export_spec_invalid', message: spec } };
  const stored = storedSpec(spec, sent ?? {});
  return { ok: true, draft: { kind, format: format ?? 'ndjson', spec: stored }, spec };
}

/** What readSpec reads as `spec`: its size is bounded, whatever was sent. */
function storedSpec(spec: ExportSpec, sent: JsonObject): JsonObject {
  const { from, to, events, segmentId, campaignId, runId, statuses } = spec;
  return {
    ...(from === undefined ? {} : { from: sent['from'] }),
    ...(to === undefined ? {} : { to: sent['to'] }),
    ...(events === undefined ? {} : { events }),
    ...(segmentId === undefined ? {} : { segment_id: segmentId }),
    ...(campaignId === undefined ? {} : { campaign_id: campaignId }),
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(statuses === undefined ? {} : { status: statuses }),
  };
}

/** The spec of a kind, or the sentence that says what is wrong. Other keys are ignored. */
export function readSpec(kind: ExportKind, sent: JsonObject): ExportSpec | string {
  if (kind === 'profiles') return {};
  if (kind === 'segment') {
    const segmentId = pathId(idText(sent['segment_id']));
    return segmentId === undefined ? 'spec.segment_id must be the id of a segment' : { segmentId };
  }
  const [from, to] = [readTime(sent['from']), readTime(sent['to'])];
  if (Number.isNaN(from) || Number.isNaN(to))
    return 'spec.from and spec.to must be RFC 3339 or YYYY-MM-DD';
  const times = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  if (kind === 'messages') return readMessagesSpec(times, sent);
  const events = readNames(sent['events']);
  if (events === null) return `spec.events must be a list of at most ${MAX_NAMES} event names`;
  return { ...times, ...(events === undefined ? {} : { events }) };
}

function readMessagesSpec(times: ExportSpec, sent: JsonObject): ExportSpec | string {
  const [campaignId, runId] = [readId(sent['campaign_id']), readId(sent['run_id'])];
  if (campaignId === null) return 'spec.campaign_id must be the id of a campaign';
  if (runId === null) return 'spec.run_id must be the id of a run';
  const statuses = readStatuses(sent['status']);
  if (statuses === null) return `spec.status must be a list of ${MESSAGE_STATUSES.join(', ')}`;
  return {
    ...times,
    ...(campaignId === undefined ? {} : { campaignId }),
    ...(runId === undefined ? {} : { runId }),
    ...(statuses === undefined ? {} : { statuses }),
  };
}

/** Null: not readable. */
function readId(value: unknown): string | undefined | null {
  return value === undefined || value === null ? undefined : (pathId(idText(value)) ?? null);
}

/** Null: not readable. */
function readStatuses(value: unknown): MessageStatus[] | undefined | null {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return null;
  const isKnown = value.every((one) => MESSAGE_STATUSES.some((status) => status === one));
  return isKnown ? MESSAGE_STATUSES.filter((status) => value.includes(status)) : null;
}

function idText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Undefined: absent. NaN: not readable. A day means its start in Tehran. */
function readTime(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? readInstant(value, 'Asia/Tehran') : NaN;
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
