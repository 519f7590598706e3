import type { SkipReason } from '../../events/messages/reasons.ts';
import type { Resolved } from '../recipients/resolved.ts';
import type { MessageSettings } from '../settings/settings.ts';
import type { Category } from '../templates/template.ts';
import { endOfQuietHours } from './quiet-hours.ts';

/** What becomes of a message to a recipient. */
export type SendDecision =
  | { kind: 'send' }
  | { kind: 'skip'; reason: SkipReason }
  /** Until this time, ms since the epoch; then it is decided again. */
  | { kind: 'wait'; until: number };

interface SendContext {
  category: Category;
  settings: Pick<MessageSettings, 'consentDefault' | 'quietHours'>;
  /** ms since the epoch */
  now: number;
}

type Recipient = Pick<Resolved, 'targets' | 'suppressed' | 'consent' | 'optedOut' | 'optedIn'>;

const SEND: SendDecision = { kind: 'send' };

/**
 * Whether a message may be sent now (docs/messages.md, Consent, quiet hours, caps). Suppression
 * counts for every category, consent and quiet hours for marketing only. The frequency cap is apart
 * from it, because it is counted where it is reserved (messaging/caps).
 */
export function decideSend(recipient: Recipient, context: SendContext): SendDecision {
  if (recipient.targets.length === 0) return skip('no_address');
  if (recipient.suppressed) return skip('suppressed');
  if (context.category !== 'marketing') return SEND;
  const refusal = refusalOf(recipient, context.settings);
  if (refusal !== undefined) return skip(refusal);
  const { settings, now } = context;
  const until = settings.quietHours && endOfQuietHours(settings.quietHours, now);
  return until === undefined ? SEND : { kind: 'wait', until };
}

/** A consent that was given overrides nothing but the lack of one. */
function refusalOf(
  { consent, optedOut, optedIn }: Recipient,
  { consentDefault }: SendContext['settings'],
): SkipReason | undefined {
  if (consent === 'unsubscribed') return 'unsubscribed';
  if (optedOut) return 'opted_out';
  const hasConsent = consent === 'subscribed' || optedIn;
  return consentDefault === 'deny' && !hasConsent ? 'no_consent' : undefined;
}

function skip(reason: SkipReason): SendDecision {
  return { kind: 'skip', reason };
}
