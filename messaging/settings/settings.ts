import type { Channel } from '../../events/channels/channel-change.ts';

/** At most so many marketing messages to a person on a channel in so many hours. */
export interface FrequencyCap {
  messages: number;
  hours: number;
}

/** When marketing waits: minutes after midnight in Asia/Tehran; it may span midnight. */
export interface QuietHours {
  from: number;
  to: number;
}

/** What an account decided about its messages (docs/messages.md, Consent, quiet hours, caps). */
export interface MessageSettings {
  /** Whether marketing may go to people who never answered. */
  consentDefault: 'allow' | 'deny';
  /** By channel; a channel without one has none. */
  frequencyCaps: Readonly<Partial<Record<Channel, FrequencyCap>>>;
  quietHours: QuietHours | undefined;
  /** Campaigns are sent after a person approved this version of them. */
  approvalRequired: boolean;
  /** Messages of campaigns a second, over all channels; undefined: as many as its senders send. */
  maxPerSecond: number | undefined;
  /** Runs of campaigns that may be in progress. */
  maxActiveRuns: number;
}

export const DEFAULT_SETTINGS: MessageSettings = {
  consentDefault: 'allow',
  frequencyCaps: {},
  quietHours: undefined,
  approvalRequired: false,
  maxPerSecond: undefined,
  maxActiveRuns: 100,
};
