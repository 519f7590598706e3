import { beforeAll, describe, expect, it } from 'vitest';
import { adminWithInput } from '../../support/admin-input.ts';
import { admin, createAccount, eventually, rows, type TestAccount } from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { ask, CORS, specified } from './host.ts';

const client = openClickhouse();
const OK = '{"status":"ok"}';
const SURVEY = {
  ...{ name: 'نظرسنجی', kind: 'survey', content: { title: 'چطور بود؟' }, frequency: 'once' },
  fields: [
    { name: 'score', type: 'rating', required: true },
    { name: 'comment', type: 'text' },
  ],
  targeting: { url: [{ op: 'contains', value: '/cart' }] },
};

let account: TestAccount;
let survey: number;

beforeAll(async () => {
  account = await createAccount('onsite');
  survey = await create(SURVEY);
});

async function create(campaign: object): Promise<number> {
  const { campaign_id } = await adminWithInput<{ campaign_id: number }>(
    campaign,
    ...['onsite', 'create', '--account', String(account.accountId)],
  );
  return campaign_id;
}

async function list(query: Record<string, string>): Promise<{ id: number }[]> {
  const sent = new URLSearchParams({ write_key: account.writeKey, ...query });
  const { status, text, headers } = await ask({
    method: 'GET',
    path: `/v1/onsite?${sent.toString()}`,
  });
  expect(status).toBe(200);
  expect(specified(headers)).toMatchObject(CORS);
  return (JSON.parse(text) as { campaigns: { id: number }[] }).campaigns;
}
const ids = async (query: Record<string, string>) => (await list(query)).map(({ id }) => id);
const lists = (id: number, query: Record<string, string>) =>
  eventually({ ms: 90_000, waitingFor: `the campaign ${id}` }, async () =>
    (await ids(query)).includes(id) ? true : undefined,
  );

async function post(path: string, body: unknown): Promise<[number, string]> {
  const headers = { Authorization: `Bearer ${account.writeKey}` };
  const { status, text } = await ask({ path, body, headers });
  return [status, text];
}
const act = (body: object) => post('/v1/onsite/event', body);
const respond = (body: object) => post('/v1/onsite/response', body);
const refused = (message: string) => [400, JSON.stringify({ status: 'error', message })];

describe('GET /v1/onsite (ingest 4.2, 7.4)', () => {
  it('lists a campaign on its pages until the visitor has seen it', async () => {
    const url = 'https://shop.ir/cart?x=1';
    await lists(survey, { url, user_id: 'v1' });
    const found = (await list({ url, user_id: 'v1' })).find(({ id }) => id === survey);
    expect(found).toEqual({
      ...{ id: survey, kind: 'survey', content: SURVEY.content, frequency: 'once' },
      fields: [
        { name: 'score', type: 'rating', required: true },
        { name: 'comment', type: 'text', required: false },
      ],
    });
    expect(await ids({ url: 'https://shop.ir/home', user_id: 'v1' })).not.toContain(survey);
    expect(await act({ campaign_id: survey, user_id: 'v1', action: 'shown' })).toEqual([200, OK]);
    expect(await ids({ url, user_id: 'v1' })).not.toContain(survey);
    expect(await ids({ url, user_id: 'v2' })).toContain(survey);
  });

  it('lists a campaign for an audience to its members, by all their names', async () => {
    const events = [
      { type: 'identify', user_id: 'member', traits: { club: 'gold' } },
      { type: 'alias', user_id: 'member', previous_id: 'browser' },
      { type: 'identify', user_id: 'stranger', traits: { club: 'none' } },
    ];
    expect((await post('/v1/batch', { batch: events }))[0]).toBe(200);
    const id = await create({
      ...{ name: 'gold', kind: 'banner', content: {}, frequency: 'always' },
      targeting: { audience: { trait: 'club', op: 'eq', value: 'gold' } },
    });
    await lists(id, { user_id: 'member' });
    await lists(id, { anonymous_id: 'browser' });
    expect(await ids({ user_id: 'stranger' })).not.toContain(id);
    expect(await ids({})).not.toContain(id);
  });

  it('leaves out a campaign that has not begun, and one that was ended', async () => {
    const definition = { name: 'n', kind: 'popup', content: {}, frequency: 'always' };
    const later = await create({ ...definition, starts_at: '2100-01-01T00:00:00Z' });
    const now = await create(definition);
    await lists(now, {});
    expect(await ids({})).not.toContain(later);
    await admin('onsite', 'end', '--account', String(account.accountId), '--id', String(now));
    await expect.poll(() => ids({}), { timeout: 15_000 }).not.toContain(now);
  });
});

describe('POST /v1/onsite/event and /v1/onsite/response (ingest 7.4)', () => {
  it.each([
    [{ user_id: 'u', action: 'shown' }, 'campaign_id and a visitor id are required'],
    [{ campaign_id: 1, action: 'shown' }, 'campaign_id and a visitor id are required'],
    [{ campaign_id: 1, user_id: 'u', action: 'seen' }, 'unknown action'],
  ])('an event is refused: %j', async (body, message) => {
    expect(await act(body)).toEqual(refused(message));
  });

  it('an event for an unknown campaign is answered 200', async () => {
    const body = { campaign_id: 999_999_999, user_id: 'u', action: 'shown' };
    expect(await act(body)).toEqual([200, OK]);
  });

  it('a response is refused with what is wrong', async () => {
    const answers = { score: 5 };
    const body = { campaign_id: survey, user_id: 'u' };
    expect(await respond({ ...body, campaign_id: 999_999_999, answers })).toEqual(
      refused('unknown campaign'),
    );
    expect(await respond({ campaign_id: survey, answers })).toEqual(
      refused('a visitor id is required'),
    );
    expect(await respond({ ...body, answers: { comment: 'x' } })).toEqual(
      refused("'score' is required"),
    );
    expect(await respond({ ...body, answers: { score: 6 } })).toEqual(
      refused("'score' is not a whole number from 1 to 5"),
    );
    expect(await respond({ ...body, answers: { score: 5, mood: 'good' } })).toEqual(
      refused("there is no field 'mood'"),
    );
  });

  it('become events, deduplicated by message_id', async () => {
    const body = { campaign_id: survey, user_id: 'answering', message_id: `onsite-${process.pid}` };
    const answers = { score: '4', comment: 'خوب' };
    for (let time = 0; time < 2; time++)
      expect(await respond({ ...body, answers })).toEqual([200, OK]);
    expect(await act({ campaign_id: survey, user_id: 'answering', action: 'clicked' })).toEqual([
      200,
      OK,
    ]);
    const stored = await eventually({ ms: 60_000, waitingFor: 'both events' }, async () => {
      const found = await rows<{ event: string; properties: Record<string, string> }>(
        client,
        `SELECT event, properties FROM events WHERE account_id = {id:UInt64} AND user_id = 'answering' ORDER BY event`,
        { id: account.accountId },
      );
      return found.length >= 2 ? found : undefined;
    });
    expect(stored).toMatchObject([
      { event: 'onsite_clicked', properties: { campaign_id: String(survey), kind: 'survey' } },
      {
        event: 'onsite_submitted',
        properties: {
          ...{ campaign_id: String(survey), kind: 'survey', score: '4', comment: 'خوب' },
          answers: JSON.stringify({ score: 4, comment: 'خوب' }),
        },
      },
    ]);
    expect(stored).toHaveLength(2);
  });
});
