import type { JsonObject } from '../../json.ts';

export const ONSITE_KINDS = ['popup', 'banner', 'survey', 'form'] as const;
export type OnsiteKind = (typeof ONSITE_KINDS)[number];

export const FIELD_TYPES = ['text', 'number', 'choice', 'rating'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** A question of a survey or an input of a form. */
export interface OnsiteField {
  name: string;
  type: FieldType;
  required: boolean;
  /** Of a choice: at least one. */
  options?: readonly string[];
}

export const URL_OPERATORS = ['contains', 'prefix', 'equals'] as const;
export type UrlOperator = (typeof URL_OPERATORS)[number];

/** A condition on the address of the page, compared as sent: no case folding, no decoding. */
export interface UrlCondition {
  op: UrlOperator;
  value: string;
}

/**
 * How often a visitor sees a campaign: once ever, once in a session, or each time. A session ends
 * SESSION_MS after the campaign was shown; SDKs, which know their sessions, decide before.
 */
export const FREQUENCIES = ['once', 'session', 'always'] as const;
export type Frequency = (typeof FREQUENCIES)[number];

/** An on-site campaign as it is stored (docs/channels.md, On-site campaigns). */
export interface OnsiteDefinition {
  kind: OnsiteKind;
  /** What the SDK shows. */
  content: unknown;
  fields: readonly OnsiteField[];
  /** Any one of them suffices; empty: every page. */
  url: readonly UrlCondition[];
  frequency: Frequency;
}

/** A campaign as an operator creates it. */
export interface OnsiteCampaign {
  name: string;
  definition: OnsiteDefinition;
  /** As sent; undefined: everybody. */
  audience: JsonObject | undefined;
  /** ms since the epoch; undefined: at once, and for ever. */
  startsAt: number | undefined;
  endsAt: number | undefined;
}

/** Bounds of one campaign. */
export const ONSITE_LIMITS = {
  nameCharacters: 200,
  contentBytes: 32 * 1024,
  fields: 50,
  fieldNameBytes: 128,
  options: 100,
  optionBytes: 256,
  urlConditions: 50,
  urlBytes: 2048,
} as const;

/** Live campaigns of an account, and bytes of their definitions together. */
export const MAX_LIVE_CAMPAIGNS = 1000;
export const MAX_ACCOUNT_DEFINITION_BYTES = 8 * 2 ** 20;

/** Properties of the events of campaigns, as answers are: no field has such a name. */
export const RESERVED_PROPERTIES: readonly string[] = ['campaign_id', 'kind', 'answers'];

/** Names of the members of all audiences of an account's live campaigns. */
export const MAX_ACCOUNT_NAMES = 5_000_000;
