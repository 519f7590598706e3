import type { Channel } from '../../events/channels/channel-change.ts';

/** What a message is for: the rules that its sending obeys (docs/messages.md, What there is). */
export const CATEGORIES = ['transactional', 'service', 'marketing'] as const;
export type Category = (typeof CATEGORIES)[number];

/** Liquid templates of the parts of a message; a channel uses the parts that it has. */
export interface TemplateContent {
  subject?: string;
  title?: string;
  text?: string;
  html?: string;
  url?: string;
  data?: Readonly<Record<string, string>>;
}

/** One version of a template; it never changes. */
export interface TemplateVersion {
  templateId: number;
  version: number;
  accountId: number;
  channel: Channel;
  category: Category;
  content: TemplateContent;
}

/** What an operator enters. */
export interface TemplateDraft {
  name: string;
  channel: Channel;
  category: Category;
  content: TemplateContent;
}

/** Of one version, bytes of JSON. */
export const MAX_CONTENT_BYTES = 512 * 1024;
export const MAX_NAME_CHARACTERS = 200;
/** Of one account. */
export const MAX_TEMPLATES = 1000;
/** All versions of an account's templates, bytes of JSON. */
export const MAX_ACCOUNT_BYTES = 256 * 2 ** 20;
