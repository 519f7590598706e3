import type { Channel } from '../../events/channels/channel-change.ts';
import type { JsonObject } from '../../events/json.ts';
import { messageAddressHash } from '../../events/messages/address-hash.ts';
import type { FailureReason, SkipReason } from '../../events/messages/reasons.ts';
import type { MessageRecipient } from '../../platform/tracking/message-recipients.ts';
import type { ProviderMessage, RenderedContent, Target } from '../providers/provider.ts';
import type { Resolved } from '../recipients/resolved.ts';
import { addressText } from '../recipients/targets.ts';
import { isPartOf } from '../senders/sender.ts';
import type { TemplateVersion } from '../templates/template.ts';
import { trackEmail, trackingRef, type TrackingSettings } from './track-email.ts';

/** The variables of one message. */
export interface MessageVariables {
  user: Readonly<Record<string, unknown>>;
  vars: JsonObject;
  event: JsonObject;
}

/** utm parameters that links get; an absent one is left as it is. */
export type UtmParameters = Readonly<
  Partial<Record<'source' | 'medium' | 'name' | 'term' | 'content', string>>
>;

/** What a template became, or why it could not be made. */
export type TriedRendering =
  { content: RenderedContent; missing: readonly string[] } | { error: string };

/** The second one: the message is not its template's fault, or was not tried. */
export type Rendering = TriedRendering | { retryAfterMs: number };

export interface PrepareDeps {
  /** Answers in the order of the variables; rejects when nothing can be rendered now. */
  render: (
    template: TemplateVersion,
    variables: readonly MessageVariables[],
  ) => Promise<readonly Rendering[]>;
  /** Gives every link the message id and the utm parameters. */
  tagLinks: (
    content: RenderedContent,
    of: { messageId: string; utm: UtmParameters; channel: Channel },
  ) => RenderedContent;
  /** Shortens links of marketing SMS (ingest 4.7); rejects when their targets are not stored. */
  shortenLinks: (
    accountId: number,
    contents: readonly RenderedContent[],
  ) => Promise<readonly RenderedContent[]>;
  /** Undefined: TRACKING_KEYS or EMAIL_TRACK_BASE is empty. */
  tracking: TrackingSettings | undefined;
  /** platform/tracking; resolves when they are stored. */
  addRecipients: (recipients: readonly MessageRecipient[]) => Promise<void>;
}

/** Messages of one template to people who may get them (decideSend). */
export interface MessagesToPrepare {
  template: TemplateVersion;
  /** Of the campaign, or of the request: it may be stricter than that of the template. */
  category: TemplateVersion['category'];
  /** Name of the provider that they are handed to. */
  provider: string;
  /** 0: of no campaign. */
  campaignId: number;
  utm: UtmParameters;
  /** Delivery after this time is of no use, ms since the epoch. */
  expiresAt: number;
  messages: readonly {
    messageId: string;
    userId: string;
    resolved: Pick<Resolved, 'targets' | 'profile'>;
    vars: JsonObject;
    event: JsonObject;
  }[];
}

/** A message in the order of the request. */
export type Prepared =
  | {
      kind: 'ready';
      /** One for each target. */
      messages: readonly ProviderMessage[];
      addressHash: string;
      /** Variables of the template that were missing and rendered empty. */
      missing: readonly string[];
    }
  | {
      kind: 'finish';
      status: 'skipped';
      reason: SkipReason;
    }
  | { kind: 'finish'; status: 'failed'; reason: FailureReason; detail: string }
  /** Nothing is known of it yet: it is prepared again after this time. */
  | { kind: 'later'; afterMs: number };

/**
 * Renders messages and makes them ready for their provider: links, tracking, one message for each
 * target. What the tokens of e-mails name is stored when this resolves. Rejects when something is
 * unavailable; then nothing was sent, and it can be done again.
 */
export async function prepareMessages(
  deps: PrepareDeps,
  of: MessagesToPrepare,
): Promise<Prepared[]> {
  const { channel } = of.template;
  if (channel === 'email' && of.category === 'marketing' && !deps.tracking)
    return of.messages.map(() => NOT_CONFIGURED);
  const all = of.messages.map((message) => ({
    message,
    targets: message.resolved.targets.filter((target) => canReach(of.provider, target)),
  }));
  const reachable = all.filter(({ targets }) => targets.length > 0);
  const contents = await contentsOf(deps, of, reachable);
  const recipients: MessageRecipient[] = [];
  const ready = new Map(
    reachable.map((one, at) => {
      const rendering = contents[at];
      if (!rendering || 'error' in rendering) return [one, failed(rendering?.error ?? '')];
      if ('retryAfterMs' in rendering)
        return [one, { kind: 'later', afterMs: rendering.retryAfterMs } as const];
      return [one, readyMessage({ deps, of, ...one, rendering, recipients })];
    }),
  );
  if (recipients.length > 0) await deps.addRecipients(recipients);
  return all.map((one) => ready.get(one) ?? NO_ADDRESS);
}

interface Reachable {
  message: MessagesToPrepare['messages'][number];
  targets: readonly Target[];
}

const NO_ADDRESS: Prepared = { kind: 'finish', status: 'skipped', reason: 'no_address' };
const NOT_CONFIGURED: Prepared = {
  ...{ kind: 'finish', status: 'skipped', reason: 'channel_not_configured' },
};

function failed(detail: string): Prepared {
  return { kind: 'finish', status: 'failed', reason: 'render_failed', detail };
}

/** A token of one push service means nothing to another, which would call it dead. */
function canReach(provider: string, target: Target): boolean {
  return target.kind !== 'device' || isPartOf(provider, target.provider);
}

async function contentsOf(
  deps: PrepareDeps,
  { template, category, utm }: MessagesToPrepare,
  reachable: readonly Reachable[],
): Promise<Rendering[]> {
  if (reachable.length === 0) return [];
  const { channel, accountId } = template;
  const renderings = await deps.render(
    template,
    reachable.map(({ message: { resolved, vars, event } }) => ({
      ...{ user: resolved.profile, vars, event },
    })),
  );
  const tagged = renderings.map((rendering, at): Rendering => {
    const messageId = reachable[at]?.message.messageId ?? '';
    if (!('content' in rendering)) return rendering;
    return { ...rendering, content: deps.tagLinks(rendering.content, { messageId, utm, channel }) };
  });
  if (channel !== 'sms' || category !== 'marketing') return tagged;
  const contents = tagged.flatMap((one) => ('content' in one ? [one.content] : []));
  const shortened = [...(await deps.shortenLinks(accountId, contents))];
  return tagged.map((one) =>
    'content' in one ? { ...one, content: shortened.shift() ?? one.content } : one,
  );
}

function readyMessage({
  deps: { tracking },
  of,
  message: { messageId, userId },
  targets,
  rendering,
  recipients,
}: Reachable & {
  deps: PrepareDeps;
  of: MessagesToPrepare;
  rendering: Extract<Rendering, { content: RenderedContent }>;
  /** What the tokens of the message name is added to these. */
  recipients: MessageRecipient[];
}): Prepared {
  const { template, category, campaignId, expiresAt } = of;
  const { accountId, channel, templateId } = template;
  const [first] = targets;
  const address = first ? addressText(first) : '';
  const isTracked = channel === 'email' && tracking !== undefined;
  const tracked = isTracked
    ? trackEmail(rendering.content, { accountId, messageId }, tracking)
    : { content: rendering.content };
  if (isTracked)
    recipients.push({
      ...{ accountId, ref: trackingRef(messageId), userId, channel, campaignId, messageId },
      ...{ address, category, templateId, variantId: '' },
    });
  return {
    kind: 'ready',
    messages: targets.map((to) => ({ messageId, to, ...tracked, expiresAt })),
    addressHash: messageAddressHash({ accountId, channel, address }),
    missing: rendering.missing,
  };
}
