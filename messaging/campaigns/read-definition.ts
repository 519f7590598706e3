import { Value } from 'typebox/value';
import { canonicalDefinition } from '../../audiences/canonical.ts';
import { readAudience } from '../../audiences/read.ts';
import { truncateBytes, utf8Length, wellFormed } from '../../events/bytes.ts';
import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import { isJsonObject, type JsonObject } from '../../events/json.ts';
import { parseRfc3339 } from '../../events/rfc3339.ts';
import type { TemplateHead } from '../templates/template-store.ts';
import {
  campaignRequestSchema,
  Goal,
  MAX_DEFINITION_BYTES,
  MAX_NAME_BYTES,
  Utm,
  type CampaignDefinition,
  type CampaignRequest,
} from './definition.ts';

export type DefinitionOutcome =
  | { ok: true; definition: CampaignDefinition }
  | { ok: false; code: 'invalid_channel' | 'campaign_invalid'; message: string };

/** What a definition refers to. Both reject when their store does. */
export interface DefinitionPorts {
  /** The newest version of a template of any account. */
  newestTemplate: (templateId: number) => Promise<TemplateHead | undefined>;
  hasSegment: (accountId: number, segmentId: number) => Promise<boolean>;
}

/**
 * Reads what a client or an operator sends and checks what it refers to. Unknown keys are ignored
 * (management 9.5). Without template_version the newest one is pinned.
 */
export async function readCampaign(
  { accountId, sent }: { accountId: number; sent: JsonObject },
  ports: DefinitionPorts,
): Promise<DefinitionOutcome> {
  const read = readDefinition(sent);
  if (!read.ok) return read;
  const { definition } = read;
  const { problem, newest } = await referenceProblem({ accountId, definition }, ports);
  if (problem !== undefined) return invalid(problem);
  const version = definition.template_version ?? newest;
  return { ok: true, definition: { ...definition, template_version: version } };
}

/** What a definition refers to and is not there; `newest`: the version of its template. */
export async function referenceProblem(
  { accountId, definition }: { accountId: number; definition: Definition },
  ports: DefinitionPorts,
): Promise<{ problem: string; newest?: never } | { problem?: undefined; newest: number }> {
  const template = await ports.newestTemplate(definition.template_id);
  if (template?.accountId !== accountId)
    return { problem: `template_id: there is no template ${definition.template_id}` };
  if (template.channel !== definition.channel)
    return {
      problem: `template_id: the template ${definition.template_id} is for the channel ${template.channel}`,
    };
  const { template_version: version = 0 } = definition;
  if (version > template.version)
    return { problem: `template_version: the template has no version ${version}` };
  const { segment_id: segmentId } = definition;
  if (segmentId !== undefined && !(await ports.hasSegment(accountId, segmentId)))
    return { problem: `segment_id: there is no segment ${segmentId}` };
  return { newest: template.version };
}

/** Before the version of the template is pinned. */
type Definition = Omit<CampaignDefinition, 'template_version'> & { template_version?: number };

/** Reads a definition without what it refers to. */
export function readDefinition(
  body: JsonObject,
): { ok: true; definition: Definition } | Extract<DefinitionOutcome, { ok: false }> {
  const sent = withoutNulls(body);
  const { channel } = sent;
  if (!CHANNELS.some((one) => one === channel))
    return {
      ...{ ok: false, code: 'invalid_channel' },
      message: `channel is not one of ${CHANNELS.join(', ')}`,
    };
  const problem = shapeProblem(sent);
  if (problem !== undefined) return invalid(problem);
  // The shape was checked.
  const request = sent as unknown as CampaignRequest;
  const name = truncateBytes(request.name.replaceAll('\0', ''), MAX_NAME_BYTES);
  if (name.trim() === '') return invalid('name is not a text with visible characters');
  const { segment_id: segmentId, audience, scheduled_at: scheduledAt } = request;
  const { template_version: version } = request;
  if ((segmentId === undefined) === (audience === undefined))
    return invalid('exactly one of segment_id and audience is required');
  const outcome = audience === undefined ? undefined : readAudience(audience);
  if (outcome?.ok === false) return invalid(`audience: ${outcome.message}`);
  const at = scheduledAt === undefined ? undefined : parseRfc3339(scheduledAt);
  if (at !== undefined && !Number.isFinite(at))
    return invalid('scheduled_at is not an RFC 3339 time, such as 2026-03-21T09:00:00+03:30');
  const definition: Definition = {
    ...{ name, channel: channel as Channel, template_id: request.template_id },
    ...(version === undefined ? {} : { template_version: version }),
    ...(segmentId === undefined ? {} : { segment_id: segmentId }),
    ...(audience === undefined ? {} : { audience: canonicalDefinition(audience) }),
    ...(at === undefined ? {} : { scheduled_at: new Date(at).toISOString() }),
    control_percent: request.control_percent ?? 0,
    ...(request.goal === undefined ? {} : { goal: cleaned(request.goal, Goal) }),
    category: request.category ?? 'marketing',
    ...(request.utm === undefined ? {} : { utm: cleaned(request.utm, Utm) }),
  };
  if (!isStorable(definition)) return invalid('a text contains NUL or an incomplete character');
  if (utf8Length(JSON.stringify(definition)) > MAX_DEFINITION_BYTES)
    return invalid(`the definition is longer than ${MAX_DEFINITION_BYTES} bytes`);
  return { ok: true, definition };
}

/** The first place where a body does not fit the schema, in its order. */
function shapeProblem(sent: JsonObject): string | undefined {
  for (const [name, schema] of Object.entries(campaignRequestSchema.properties)) {
    const value = sent[name];
    if (value === undefined) {
      if (name === 'name' || name === 'template_id') return `${name} is required`;
      continue;
    }
    const [error] = Value.Errors(schema, value);
    if (!error) continue;
    const path = [name, ...partsOf(error.instancePath)].join('.');
    const { description = 'valid' } = partsOf(error.schemaPath).reduce<Described>(
      (inside, part) => inside[part] as Described,
      schema as unknown as Described,
    );
    return `${path} is not ${description}`;
  }
  return undefined;
}

interface Described {
  description?: string;
  [part: string]: unknown;
}

function partsOf(pointer: string): string[] {
  return pointer.split('/').filter((part) => part !== '' && part !== '#');
}

function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== null)
      .map(([key, one]) => [
        key,
        (key === 'goal' || key === 'utm') && isJsonObject(one) ? withoutNulls(one) : one,
      ]),
  );
}

/** The fields that a schema names, their texts as PostgreSQL and URLs can hold them. */
function cleaned<Fields extends object>(
  fields: Fields,
  { properties }: { properties: object },
): Fields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([key]) => Object.hasOwn(properties, key))
      .map(([key, value]: [string, unknown]) => [
        key,
        typeof value === 'string' ? wellFormed(value.replaceAll('\0', '')) : value,
      ]),
  ) as Fields;
}

/** PostgreSQL reads no field of a JSON that holds NUL or a lone surrogate. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, one]) => isStorable(key) && isStorable(one));
}

function invalid(message: string): Extract<DefinitionOutcome, { ok: false }> {
  return { ok: false, code: 'campaign_invalid', message };
}
