import Type, { type Static, type TSchema } from 'typebox';
import { CHANNELS } from '../../events/channels/channel-change.ts';

/** Of one campaign, bytes of JSON. */
export const MAX_DEFINITION_BYTES = 64 * 1024;
export const MAX_NAME_BYTES = 512;
const MAX_TEXT = 256;

/** Describes a value as a sentence continues "is not …" (read-definition.ts). */
const text = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_TEXT, description });
const id = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

export const Goal = Type.Object(
  {
    event: text(`the name of an event, 1 to ${MAX_TEXT} characters`),
    window_hours: Type.Integer({
      ...{ minimum: 1, maximum: 720, description: 'a whole number from 1 to 720' },
    }),
  },
  { description: 'an object with event and window_hours' },
);

const utm = Type.Optional(text(`a text of 1 to ${MAX_TEXT} characters`));
export const Utm = Type.Object(
  { source: utm, medium: utm, name: utm, term: utm, content: utm },
  { description: 'an object with source, medium, name, term and content' },
);

/**
 * What clients send to define a campaign (docs/messages.md, Send a campaign): its type, its
 * validation and its OpenAPI. Null counts as absent.
 *
 * @param audience the schema of audience definitions; they are read by readAudience
 */
export function campaignFields<Audience extends TSchema>(audience: Audience) {
  return {
    name: Type.String({ minLength: 1, description: 'a text with visible characters' }),
    channel: Type.Enum([...CHANNELS]),
    template_id: id('the id of a template'),
    template_version: Type.Optional(id('the number of a version of the template')),
    segment_id: Type.Optional(id('the id of a segment')),
    audience: Type.Optional(audience),
    scheduled_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'an RFC 3339 time, such as 2026-03-21T09:00:00+03:30',
      }),
    ),
    control_percent: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 50, description: 'a whole number from 0 to 50' }),
    ),
    goal: Type.Optional(Goal),
    category: Type.Optional(
      Type.Enum(['marketing', 'service'], { description: 'marketing or service' }),
    ),
    utm: Type.Optional(Utm),
  };
}

export const campaignRequestSchema = Type.Object(campaignFields(Type.Unknown()));
export type CampaignRequest = Static<typeof campaignRequestSchema>;

/**
 * A campaign as it is stored, and as its runs keep it. The version of the template is pinned;
 * exactly one of segment_id and audience (in its canonical form) is there.
 */
export interface CampaignDefinition extends Omit<CampaignRequest, 'template_version'> {
  template_version: number;
  control_percent: number;
  category: 'marketing' | 'service';
}
