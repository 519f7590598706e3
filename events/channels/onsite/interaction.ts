import type { JsonObject } from '../../json.ts';
import { optionalId, RefusedChange } from '../fields.ts';
import type { Answers } from './answers.ts';
import type { OnsiteKind } from './definition.ts';

export const ACTIONS = ['shown', 'clicked', 'dismissed', 'submitted'] as const;
export type OnsiteAction = (typeof ACTIONS)[number];

/** Who did something with which campaign. */
export interface Interaction {
  /** 0: no campaign has what was sent. */
  campaignId: number;
  /** One of the two, or both. */
  userId: string;
  anonymousId: string;
  /** Empty: each request is an event. */
  messageId: string;
}

/**
 * Reads the body of POST /v1/onsite/event (ingest 7.4). Throws RefusedChange with the text for the
 * client, and MalformedEnvelope for an id of another JSON type.
 */
export function readInteraction(body: JsonObject): Interaction & { action: OnsiteAction } {
  const campaignId = readCampaignId(body['campaign_id']);
  const visitor = readVisitor(body);
  if (campaignId === undefined || !visitor)
    throw new RefusedChange('campaign_id and a visitor id are required');
  const action = ACTIONS.find((one) => one === body['action']);
  if (action === undefined) throw new RefusedChange('unknown action');
  return { campaignId, ...visitor, messageId: optionalId(body, 'message_id'), action };
}

/**
 * Reads the body of POST /v1/onsite/response without its answers, which the campaign's fields
 * decide. Throws as `readInteraction`.
 */
export function readResponse(body: JsonObject): Interaction {
  const campaignId = readCampaignId(body['campaign_id']);
  if (campaignId === undefined) throw new RefusedChange('unknown campaign');
  const visitor = readVisitor(body);
  if (!visitor) throw new RefusedChange('a visitor id is required');
  return { campaignId, ...visitor, messageId: optionalId(body, 'message_id') };
}

function readVisitor(body: JsonObject): Pick<Interaction, 'userId' | 'anonymousId'> | undefined {
  const userId = optionalId(body, 'user_id');
  const anonymousId = optionalId(body, 'anonymous_id');
  return userId === '' && anonymousId === '' ? undefined : { userId, anonymousId };
}

/** Undefined when absent; 0 for what no campaign has. A number may come as a text. */
function readCampaignId(sent: unknown): number | undefined {
  if (typeof sent === 'number') return Number.isSafeInteger(sent) && sent > 0 ? sent : 0;
  if (typeof sent !== 'string' || sent === '') return undefined;
  return /^[1-9]\d{0,14}$/.test(sent) ? Number(sent) : 0;
}

/**
 * The event that an interaction becomes: a body of POST /v1/track. Answers are properties of their
 * own, which reports filter by, and together the property `answers`.
 */
export function interactionEvent(input: {
  interaction: Interaction;
  action: OnsiteAction;
  kind: OnsiteKind;
  answers?: Answers;
}): JsonObject {
  const { interaction, action, kind, answers } = input;
  const { campaignId, userId, anonymousId, messageId } = interaction;
  return {
    event: `onsite_${action}`,
    ...(userId === '' ? {} : { user_id: userId }),
    ...(anonymousId === '' ? {} : { anonymous_id: anonymousId }),
    ...(messageId === '' ? {} : { message_id: messageId }),
    properties: Object.fromEntries([
      ...Object.entries(answers ?? {}),
      ['campaign_id', campaignId],
      ['kind', kind],
      ...(answers ? [['answers', answers] as const] : []),
    ]),
  };
}
