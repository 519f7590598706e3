import { describe, expect, it, test } from 'vitest';
import type { TemplateHead } from '../templates/template-store.ts';
import { readCampaign, readDefinition } from './read-definition.ts';

const AUDIENCE = { attribute: 'city', op: 'eq', value: 'تهران' };
const SENT = { name: 'یلدا', channel: 'sms', template_id: 7, audience: AUDIENCE };
const STORED = { ...SENT, control_percent: 0, category: 'marketing' };

describe('the definition of a campaign', () => {
  it('has defaults, and null counts as absent', () => {
    const sent = { ...SENT, segment_id: null, goal: null, utm: { source: 's', medium: null } };
    expect(readDefinition(sent)).toEqual({
      ok: true,
      definition: { ...STORED, utm: { source: 's' } },
    });
  });

  it('is stored in one form, however it was written', () => {
    const sent = {
      ...{ ...SENT, name: 'یل\0دا', note: 'ignored', audience: { ...AUDIENCE, note: 'ignored' } },
      ...{ scheduled_at: '2027-03-21T09:00:00+03:30', control_percent: 10, category: 'service' },
      goal: { event: 'order_completed\0', window_hours: 72, note: 1 },
      utm: { source: 'ravand', medium: 'sms', name: 'yalda', term: 't', content: 'c' },
    };
    expect(readDefinition(sent)).toEqual({
      ok: true,
      definition: {
        ...{ ...SENT, scheduled_at: '2027-03-21T05:30:00.000Z', control_percent: 10 },
        ...{ category: 'service', goal: { event: 'order_completed', window_hours: 72 } },
        utm: { source: 'ravand', medium: 'sms', name: 'yalda', term: 't', content: 'c' },
      },
    });
  });

  it('has a name of at most 512 bytes: a longer one is cut', () => {
    expect(readDefinition({ ...SENT, name: 'ن'.repeat(400) })).toMatchObject({
      definition: { name: 'ن'.repeat(256) },
    });
  });

  test.each([[undefined], ['fax'], [5], ['Email']])(
    'with the channel %o has no channel',
    (channel) =>
      expect(readDefinition({ ...SENT, channel, name: '' })).toEqual({
        ...{ ok: false, code: 'invalid_channel' },
        message: 'channel is not one of email, sms, push, web, inapp, bale, eitaa, rubika',
      }),
  );

  test.each<[object, string]>([
    [{ name: undefined }, 'name is required'],
    [{ name: ' ' }, 'name is not a text with visible characters'],
    [{ name: 5 }, 'name is not a text with visible characters'],
    [{ template_id: undefined }, 'template_id is required'],
    [{ template_id: '7' }, 'template_id is not the id of a template'],
    [{ template_id: 0 }, 'template_id is not the id of a template'],
    [{ template_version: 1.5 }, 'template_version is not the number of a version of the template'],
    [{ audience: undefined }, 'exactly one of segment_id and audience is required'],
    [{ segment_id: 3 }, 'exactly one of segment_id and audience is required'],
    [{ audience: {} }, 'audience: segment: expected exactly one of all'],
    [{ audience: { ...AUDIENCE, value: 'a\0' } }, 'a text contains NUL'],
    [
      { audience: { ...AUDIENCE, value: '\ud83d' } },
      'a text contains NUL or an incomplete character',
    ],
    [{ scheduled_at: 'tomorrow' }, 'scheduled_at is not an RFC 3339 time'],
    [{ scheduled_at: '2027-02-30T00:00:00Z' }, 'scheduled_at is not an RFC 3339 time'],
    [{ control_percent: 51 }, 'control_percent is not a whole number from 0 to 50'],
    [{ control_percent: -1 }, 'control_percent is not a whole number from 0 to 50'],
    [{ control_percent: '5' }, 'control_percent is not a whole number from 0 to 50'],
    [{ goal: 'order' }, 'goal is not an object with event and window_hours'],
    [{ goal: { event: 'e' } }, 'goal is not an object with event and window_hours'],
    [
      { goal: { event: 'e', window_hours: 721 } },
      'goal.window_hours is not a whole number from 1 to 720',
    ],
    [{ goal: { event: '', window_hours: 1 } }, 'goal.event is not the name of an event'],
    [{ category: 'transactional' }, 'category is not marketing or service'],
    [{ utm: { source: 5 } }, 'utm.source is not a text of 1 to 256 characters'],
    [{ utm: [] }, 'utm is not an object with source'],
    [
      {
        audience: {
          trait: 't',
          op: 'in',
          value: ['x'.repeat(1000)].concat(Array(65).fill('y'.repeat(1000)) as string[]),
        },
      },
      'the definition is longer than 65536 bytes',
    ],
  ])('with %o is invalid: %s', (change, message) => {
    const outcome = readDefinition({ ...SENT, ...change });
    expect(outcome).toMatchObject({ ok: false, code: 'campaign_invalid' });
    expect((outcome as { message: string }).message).toContain(message);
  });
});

describe('what a campaign refers to', () => {
  const template: TemplateHead = {
    ...{
      templateId: 7,
      name: 'n',
      accountId: 1,
      version: 3,
      channel: 'sms',
      category: 'marketing',
    },
  };
  const read = (change: object, found: TemplateHead | undefined = template) =>
    readCampaign(
      { accountId: 1, sent: { ...SENT, ...change } },
      {
        newestTemplate: () => Promise.resolve(found),
        hasSegment: (accountId, segmentId) => Promise.resolve(accountId === 1 && segmentId === 4),
      },
    );

  it('is pinned to the newest version of the template, or to the one that was named', async () => {
    expect(await read({})).toEqual({ ok: true, definition: { ...STORED, template_version: 3 } });
    expect(await read({ template_version: 2 })).toMatchObject({
      definition: { template_version: 2 },
    });
    expect(await read({ audience: null, segment_id: 4 })).toMatchObject({
      definition: { segment_id: 4 },
    });
  });

  it('must exist in the account, and be for the channel', async () => {
    const problem = async (outcome: ReturnType<typeof read>) =>
      ((await outcome) as { message?: string }).message;
    expect(await problem(read({ template_version: 4 }))).toContain('has no version 4');
    expect(await problem(read({}, { ...template, accountId: 2 }))).toContain('no template 7');
    expect(await problem(read({ channel: 'push' }))).toContain('is for the channel sms');
    expect(await problem(read({ audience: null, segment_id: 5 }))).toContain('no segment 5');
    expect(await problem(read({}))).toBeUndefined();
  });
});
