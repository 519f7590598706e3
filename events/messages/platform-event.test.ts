import { createSecretKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ERASED, type MessageOutcome } from '../../schemas/records.ts';
import { ContextReader, normaliseEvent } from '../normalise.ts';
import { UserAgentCache } from '../user-agent.ts';
import { outcomeEventId, platformEvent } from './platform-event.ts';

const KEY = createSecretKey(Buffer.alloc(32, 7));
const SENT: MessageOutcome = {
  ...{ account_id: 9, message_id: 'c3.5.0f', campaign_id: 3, run_id: 5, template_id: 7 },
  ...{ template_version: 2, channel: 'email', category: 'marketing', person_id: 'p' },
  ...{ user_id: 'sara', address_hash: 'ab', status: 'sent', reason: '', provider: 'smtp' },
  ...{ provider_message_id: 'x', planned_at: 1000, finished_at: 2500, attempts: 1 },
};

/** The row of `events` that the pipeline makes of it. */
function stored(outcome: MessageOutcome) {
  const event = platformEvent(outcome, KEY);
  if (!event) return undefined;
  return normaliseEvent(
    {
      record: {
        ...{ account_id: 9, app_id: 0, received_at: 3000, source: 'platform', ip: '' },
        ...{ user_agent: '', trace: '' },
      },
      item: {
        ...{ type: 'track', message_id: event.messageId, dedupe_id: null },
        timestamp: event.timestamp,
      },
      envelope: event.body,
      batchContext: undefined,
      position: { epoch: 0, partition: 0, offset: 0, index: 0 },
      acceptance: 0,
    },
    new ContextReader(new UserAgentCache(1)),
  );
}

describe('the event of an outcome', () => {
  it('says which message it is about, when and to whom', () => {
    expect(stored(SENT)).toMatchObject({
      ...{ event: 'message_sent', user_id: 'sara', source: 'platform', timestamp: 2500 },
      ...{ campaign_id: 3, source_message_id: 'c3.5.0f', is_bot: false },
      message_id: outcomeEventId(SENT, KEY),
      properties: { channel: 'email', category: 'marketing', template_id: '7' },
    });
  });

  it.each([
    ['failed', 'message_failed', 'deadline'],
    ['withheld', 'message_withheld', 'control_group'],
  ])('of a %s message is %s, with the reason', (status, event, reason) => {
    const found = stored({ ...SENT, status, reason });
    expect([found?.event, found?.properties['reason']]).toEqual([event, reason]);
  });

  it('of a test message says so, and of no other', () => {
    const tested = stored({ ...SENT, message_id: 't9.test~order-1', campaign_id: 0 });
    expect(tested?.properties).toMatchObject({ test: 'true' });
    for (const message_id of ['t9.test.order-1', 'c3.5.0f'])
      expect(stored({ ...SENT, message_id })?.properties).not.toHaveProperty('test');
  });

  it('leaves out what a transactional message does not have', () => {
    const found = stored({ ...SENT, message_id: 't9.order-1', campaign_id: 0, template_id: 0 });
    expect(found).toMatchObject({ campaign_id: 0, source_message_id: 't9.order-1' });
    expect(found?.properties).toEqual({ channel: 'email', category: 'marketing' });
  });

  it.each([
    ['was skipped', { status: 'skipped', reason: 'no_address' }],
    ['was erased', { status: ERASED, message_id: '', person_id: '', user_id: '' }],
    ['is of nobody', { person_id: '', user_id: '' }],
  ])('does not exist when the message %s', (_, more) => {
    expect(platformEvent({ ...SENT, ...more }, KEY)).toBeUndefined();
  });
});

describe('the id of the event of an outcome', () => {
  it('is the same whenever it is made, one for each message of each account', () => {
    const id = outcomeEventId(SENT, KEY);
    expect(outcomeEventId({ ...SENT }, createSecretKey(KEY.export()))).toBe(id);
    expect(id).toMatch(/^message\.[A-Za-z0-9_-]{32}$/);
    const others = [
      { message_id: 'c3.5.0e' },
      { account_id: 8 },
      { account_id: 90, message_id: '' },
    ];
    for (const other of others) expect(outcomeEventId({ ...SENT, ...other }, KEY)).not.toBe(id);
  });

  it('cannot be made without the key of the installation', () => {
    expect(outcomeEventId(SENT, createSecretKey(Buffer.alloc(32, 8)))).not.toBe(
      outcomeEventId(SENT, KEY),
    );
  });
});
