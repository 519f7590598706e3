import { describe, expect, it } from 'vitest';
import { ContextReader, normaliseEvent } from '../normalise.ts';
import { UserAgentCache } from '../user-agent.ts';
import { openEvent, openEventId, type OpenedMessage } from './open-event.ts';
import type { OpenedBy } from './opened-by.ts';

const MESSAGE: OpenedMessage = {
  ...{ userId: 'u', channel: 'email', campaignId: 5, messageId: 'c5.1.abc' },
  ...{ category: 'marketing', templateId: 9, variantId: 'b', ref: Buffer.alloc(12, 1) },
};

interface Given {
  message?: OpenedMessage;
  source?: 'platform' | 'sdk';
}

function stored(by: OpenedBy, { message = MESSAGE, source = 'platform' }: Given = {}) {
  const envelope = openEvent(message, by);
  return normaliseEvent(
    {
      record: {
        ...{ account_id: 1, app_id: 0, received_at: 1000, source, ip: '', user_agent: '' },
        trace: '',
      },
      item: { type: 'track', message_id: openEventId(message), dedupe_id: null, timestamp: 1000 },
      ...{ envelope, batchContext: undefined, acceptance: 0 },
      position: { epoch: 0, partition: 0, offset: 0, index: 0 },
    },
    new ContextReader(new UserAgentCache(1)),
  );
}

describe('the event of an open', () => {
  it('has the columns and properties of platform events', () => {
    expect(stored('person')).toMatchObject({
      ...{ event: 'message_opened', type: 'track', source: 'platform', user_id: 'u' },
      ...{ campaign_id: 5, variant_id: 'b', source_message_id: 'c5.1.abc', is_bot: false },
      message_id: `opened.${Buffer.alloc(12, 1).toString('base64url')}`,
      properties: {
        ...{ channel: 'email', category: 'marketing', template_id: '9', opened_by: 'person' },
      },
    });
  });

  it('of a message without a campaign has no campaign', () => {
    const message = { ...MESSAGE, campaignId: 0, category: '', templateId: 0, variantId: '' };
    expect(stored('person', { message })).toMatchObject({
      ...{ campaign_id: 0, variant_id: '', source_message_id: 'c5.1.abc' },
      properties: { channel: 'email', opened_by: 'person' },
    });
  });

  it('is bot traffic when a proxy or a bot opened it, and only when the platform says so', () => {
    expect((['proxy', 'bot'] as const).map((by) => stored(by).is_bot)).toEqual([true, true]);
    expect(stored('proxy', { source: 'sdk' }).is_bot).toBe(false);
  });
});
