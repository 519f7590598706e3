import { describe, expect, it } from 'vitest';
import { MalformedEnvelope } from '../../validate-event.ts';
import { decideSingle } from '../../validate.ts';
import { RefusedChange } from '../fields.ts';
import { interactionEvent, readInteraction, readResponse } from './interaction.ts';

const event = { campaign_id: 7, user_id: 'u', action: 'shown' };

function textOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof RefusedChange) return error.message;
    if (error instanceof MalformedEnvelope) return 'malformed';
    throw error;
  }
  return 'accepted';
}

describe('an on-site interaction', () => {
  it('names a campaign by a number or a text, and a visitor by either id', () => {
    const read = { campaignId: 7, userId: 'u', anonymousId: '', messageId: '', action: 'shown' };
    expect(readInteraction(event)).toEqual(read);
    expect(readInteraction({ ...event, campaign_id: '7' })).toEqual(read);
    const anonymous = { campaign_id: 7, anonymous_id: 'a', action: 'clicked', message_id: 'm' };
    expect(readInteraction(anonymous)).toEqual({
      ...{ campaignId: 7, userId: '', anonymousId: 'a', messageId: 'm', action: 'clicked' },
    });
  });

  const REQUIRED = 'campaign_id and a visitor id are required';
  it.each([
    [{ campaign_id: undefined }, REQUIRED],
    [{ campaign_id: '' }, REQUIRED],
    [{ campaign_id: {} }, REQUIRED],
    [{ user_id: '' }, REQUIRED],
    [{ user_id: null }, REQUIRED],
    [{ user_id: 5 }, 'malformed'],
    [{ message_id: 5 }, 'malformed'],
    [{ user_id: 'ش'.repeat(129) }, 'user_id is too long: at most 256 bytes'],
    [{ message_id: 'm'.repeat(257) }, 'message_id is too long: at most 256 bytes'],
    [{ action: 'viewed' }, 'unknown action'],
    [{ action: undefined }, 'unknown action'],
    [{ action: 'constructor' }, 'unknown action'],
    [{ action: 'x', user_id: '' }, REQUIRED],
  ])('is refused with a text: %j', (change, text) => {
    expect(textOf(() => readInteraction({ ...event, ...change }))).toBe(text);
  });

  it.each([[-1], [0], [1.5], [2 ** 53], ['x'], ['-7'], ['07'], ['7'.repeat(16)]])(
    'names no campaign with %j',
    (campaign_id) => {
      expect(readInteraction({ ...event, campaign_id }).campaignId).toBe(0);
    },
  );
});

describe('an on-site response', () => {
  it.each([
    [{ campaign_id: 7, anonymous_id: 'a' }, 'accepted'],
    [{ user_id: 'u' }, 'unknown campaign'],
    [{ campaign_id: 7 }, 'a visitor id is required'],
    [{}, 'unknown campaign'],
  ])('needs a campaign and a visitor: %j', (body, text) => {
    expect(textOf(() => readResponse(body))).toBe(text);
  });
});

describe('the event of an interaction', () => {
  const interaction = { campaignId: 7, userId: 'u', anonymousId: 'a', messageId: 'm' };

  it('has the campaign and its kind as properties', () => {
    expect(interactionEvent({ interaction, action: 'dismissed', kind: 'popup' })).toEqual({
      event: 'onsite_dismissed',
      ...{ user_id: 'u', anonymous_id: 'a', message_id: 'm' },
      properties: { campaign_id: 7, kind: 'popup' },
    });
  });

  it('has each answer as a property, and all of them together', () => {
    const answers = { score: 4, comment: 'خوب' };
    const made = interactionEvent({ interaction, action: 'submitted', kind: 'form', answers });
    expect(made['properties']).toEqual({ campaign_id: 7, kind: 'form', ...answers, answers });
  });

  it('is accepted without a correction', () => {
    const answers = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [`${at}${'f'.repeat(120)}`, 5] as const),
    );
    const body = interactionEvent({ interaction, action: 'submitted', kind: 'survey', answers });
    const decided = decideSingle({ body, type: 'track', now: 1e12, windowMs: 1e9 });
    expect(decided).toMatchObject({ outcome: 'decided', warnings: [], rejected: [] });
  });
});
