import { describe, expect, it } from 'vitest';
import { messageChunkCodec, messageOutcomeCodec } from '../../schemas/codec.ts';
import type { MessageChunk, MessageOutcome } from '../../schemas/records.ts';
import { parseMessageId, campaignMessageId, personKey } from '../messages/message-id.ts';
import { ErasedPeople, idHash } from './erased-people.ts';
import { eraseFromMessageChunk, eraseFromMessageOutcome } from './message-records.ts';

const KEY = Buffer.alloc(32, 7);
const AT = 1000;
const erased = new ErasedPeople(
  [
    {
      ...{
        id: 1,
        accountId: 1,
        keyId: 3,
        requestedAt: 0,
        messagesUntil: AT,
        cuts: [],
        addresses: [],
      },
      names: ['sara', 'sara-2'].map((name) => idHash(KEY, 1, name).toString('hex')),
    },
  ],
  new Map([[3, KEY]]),
);

const recipient = (person_id: string, user_id = person_id) => ({
  ...{ key: personKey(person_id), person_id, user_id, is_control: person_id === 'sara' },
});
const CHUNK: MessageChunk = {
  ...{ account_id: 1, campaign_id: 2, run_id: 5, chunk: 4, planned_at: AT },
  first_key: personKey('sara'),
  recipients: ['sara', 'ali', 'mina'].map((person) => recipient(person)),
};

/** Undefined: the record stays as it is. */
function chunkLeft(more: Partial<MessageChunk> = {}): MessageChunk | undefined {
  const value = eraseFromMessageChunk(messageChunkCodec.encode({ ...CHUNK, ...more }), erased);
  return value && messageChunkCodec.decode(value);
}

describe('a chunk with an erased person', () => {
  it('keeps the place of each recipient, and nothing that names the person', () => {
    const found = chunkLeft();
    expect(found?.recipients.map(({ person_id }) => person_id)).toEqual(['', 'ali', 'mina']);
    expect(found?.recipients[0]).toMatchObject({ user_id: '', is_control: true });
    expect(found?.recipients.slice(1)).toEqual(CHUNK.recipients.slice(1));
    expect(JSON.stringify(found)).not.toMatch(new RegExp(`sara|${personKey('sara')}`));
  });

  it('is found by the key of the first recipient that it still names', () => {
    expect(chunkLeft()?.first_key).toBe(personKey('ali'));
    expect(chunkLeft({ recipients: [recipient('sara'), recipient('sara-2')] })?.first_key).toBe('');
    const before = { ...recipient(''), key: 'ffff' };
    const again = chunkLeft({ recipients: [before, recipient('sara'), recipient('ali')] });
    expect(again?.first_key).toBe(personKey('ali'));
  });

  it('still gives each recipient a message id of its own', () => {
    const found = chunkLeft({ recipients: [recipient('sara'), recipient('sara-2')] });
    const ids = found?.recipients.map(({ key }) =>
      campaignMessageId({ campaignId: 2, runId: 5, key }),
    );
    expect(new Set(ids).size).toBe(2);
    expect(ids?.map((id) => parseMessageId(id)?.kind)).toEqual(['campaign', 'campaign']);
  });

  it('is the same when it is erased again', () => {
    const once = eraseFromMessageChunk(messageChunkCodec.encode(CHUNK), erased);
    expect(once && eraseFromMessageChunk(once, erased)).toBeUndefined();
    expect(chunkLeft()).toEqual(chunkLeft());
  });

  it.each([
    ['under a name that is not the canonical one', [recipient('other', 'sara-2')]],
    ['who was the canonical one', [recipient('sara', 'other')]],
  ])('is erased for somebody %s', (_, recipients) => {
    expect(chunkLeft({ recipients })?.recipients[0]).toMatchObject({ person_id: '', user_id: '' });
  });
});

const OUTCOME: MessageOutcome = {
  ...{ account_id: 1, message_id: `c2.5.${personKey('sara')}`, campaign_id: 2, run_id: 5 },
  ...{ template_id: 7, template_version: 1, channel: 'email', category: 'marketing' },
  ...{ person_id: 'sara', user_id: 'sara', address_hash: 'ab', status: 'failed', reason: 'x' },
  ...{ provider: 'smtp', provider_message_id: '<x>', planned_at: AT, finished_at: AT + 5 },
  attempts: 2,
};

function outcomeLeft(more: Partial<MessageOutcome> = {}): MessageOutcome | undefined {
  const value = eraseFromMessageOutcome(
    messageOutcomeCodec.encode({ ...OUTCOME, ...more }),
    erased,
  );
  return value && messageOutcomeCodec.decode(value);
}

describe('the outcome of an erased person’s message', () => {
  it('says only which run it was of', () => {
    expect(outcomeLeft()).toEqual({
      ...OUTCOME,
      ...{ message_id: '', person_id: '', user_id: '', address_hash: '', reason: '' },
      ...{ provider_message_id: '', status: 'erased' },
    });
    expect(outcomeLeft({ user_id: 'other' })?.status).toBe('erased');
    expect(outcomeLeft({ person_id: 'other', user_id: 'sara-2' })?.status).toBe('erased');
  });
});

describe('a record of messages stays byte for byte', () => {
  it.each([
    ['of somebody else', { person_id: 'sar', user_id: 'sar' }, [recipient('sar')]],
    ['of nobody', { person_id: '', user_id: '' }, [recipient('')]],
  ])('%s', (_, ids, recipients) => {
    expect(outcomeLeft(ids)).toBeUndefined();
    expect(chunkLeft({ recipients })).toBeUndefined();
  });

  it.each([
    ['of another account', { account_id: 2 }],
    ['that was planned later, for a new person of that name', { planned_at: AT + 1 }],
  ])('%s', (_, more) => {
    expect(outcomeLeft(more)).toBeUndefined();
    expect(chunkLeft(more)).toBeUndefined();
  });
});
