import { beforeEach, describe, expect, it } from 'vitest';
import type { OnsiteDefinition } from '../../events/channels/onsite/definition.ts';
import { visitorHash } from '../../events/channels/onsite/visitor.ts';
import type { JsonObject } from '../../events/json.ts';
import type { SdkRequest } from '../../ingest/request.ts';
import type { IngestResult } from '../../ingest/result.ts';
import { OnsiteCatalogue, type StoredCampaign } from './catalogue.ts';
import { Memberships } from './memberships.ts';
import { onsiteRoutes } from './onsite-routes.ts';
import { ShownCampaigns } from './shown-campaigns.ts';

const ACCOUNT = 7;
const ACCEPTED: IngestResult = {
  outcome: 'accepted',
  summary: { accepted: 1, duplicates: 0, rejected: 0, warnings: [], errors: [] },
};
const FIELDS: OnsiteDefinition['fields'] = [
  { name: 'score', type: 'rating', required: true },
  { name: 'comment', type: 'text', required: false },
];

let now: number;
let catalogue: OnsiteCatalogue;
let memberships: Memberships;
let accepted: SdkRequest[];
let result: IngestResult;
let isRead: boolean;
let appearing: StoredCampaign | undefined;
let routes: ReturnType<typeof onsiteRoutes>;

beforeEach(() => {
  now = 1_000_000;
  catalogue = new OnsiteCatalogue();
  memberships = new Memberships();
  accepted = [];
  result = ACCEPTED;
  isRead = true;
  appearing = undefined;
  const down = () => Promise.reject(new Error('down'));
  routes = onsiteRoutes({
    campaigns: {
      ...{ catalogue, memberships },
      refresh: () => {
        if (appearing) catalogue.set(appearing, memberships);
        return Promise.resolve(isRead);
      },
    },
    // Of a store that is down: everything is answered from memory.
    shown: new ShownCampaigns({
      ...{ store: { of: down, add: down }, now: () => now, onFailed: () => undefined },
    }),
    service: {
      accept: (request) => {
        accepted.push(request);
        return Promise.resolve(result);
      },
    },
  });
});

const campaign = (
  id: number,
  {
    definition = {},
    ...sent
  }: Partial<Omit<StoredCampaign, 'definition'>> & {
    definition?: Partial<OnsiteDefinition>;
  } = {},
): StoredCampaign => ({
  ...{ id, accountId: ACCOUNT, audience: undefined, startsAt: -Infinity, endsAt: Infinity },
  ...{ enabled: true, updatedAt: 0, ...sent },
  definition: {
    ...{ kind: 'popup', content: { id }, fields: [], url: [], frequency: 'always' },
    ...definition,
  },
});
const add = (...args: Parameters<typeof campaign>) => catalogue.set(campaign(...args), memberships);

async function call(path: string, body: JsonObject, query = ''): Promise<[number, unknown]> {
  const route = routes.find((one) => one.path === path);
  const answer = await route?.answer({
    ...{ body, query, trace: 't', receivedAt: now, ip: '1.2.3.4', userAgent: 'UA' },
    principal: { accountId: ACCOUNT, appId: 3, writeKeyId: 1 },
  });
  return [answer?.status ?? 0, JSON.parse(answer?.body ?? 'null')];
}
const listed = async (sent: Record<string, string> = {}) => {
  const [, body] = await call('/v1/onsite', {}, new URLSearchParams(sent).toString());
  return (body as { campaigns: { id: number }[] }).campaigns;
};
const ids = async (sent?: Record<string, string>) => (await listed(sent)).map(({ id }) => id);
const act = (body: JsonObject) => call('/v1/onsite/event', { user_id: 'u', ...body });
const respond = (body: JsonObject) => call('/v1/onsite/response', { user_id: 'u', ...body });

function makeMember(audience: string, name: string): void {
  const { high, low } = visitorHash(ACCOUNT, name);
  const names = Buffer.alloc(8);
  names.writeUInt32LE(low, 0);
  names.writeUInt32LE(high, 4);
  memberships.addChunk({ accountId: ACCOUNT, audience, bits: 0, chunk: 0, names });
  memberships.setLayout({ accountId: ACCOUNT, audience, bits: 0 });
}

describe('GET /v1/onsite', () => {
  it('lists the campaigns of the account with what the SDK needs', async () => {
    add(2, { definition: { kind: 'survey', fields: FIELDS } });
    add(1);
    catalogue.set({ ...campaign(3), accountId: 8 }, memberships);
    expect(await listed()).toEqual([
      { id: 1, kind: 'popup', content: { id: 1 }, frequency: 'always' },
      { id: 2, kind: 'survey', content: { id: 2 }, fields: FIELDS, frequency: 'always' },
    ]);
  });

  it('answers an empty list when nothing was ever read', async () => {
    expect(await call('/v1/onsite', {})).toEqual([200, { campaigns: [] }]);
  });

  it('lists those for the page, decoded once', async () => {
    const value = 'https://x.ir/سبد?q=%20';
    add(1, { definition: { url: [{ op: 'equals', value }] } });
    add(2, { definition: { url: [{ op: 'contains', value: 'other' }] } });
    expect(await ids({ url: value })).toEqual([1]);
    expect(await ids()).toEqual([]);
  });

  it('lists those for an audience to its members, by either id', async () => {
    add(1, { audience: 'a' });
    makeMember('a', 'u');
    expect(await ids()).toEqual([]);
    expect(await ids({ user_id: 'u' })).toEqual([1]);
    expect(await ids({ user_id: 'u2', anonymous_id: 'u' })).toEqual([1]);
    expect(await ids({ user_id: 'u2' })).toEqual([]);
    expect(await ids({ user_id: 'u'.repeat(300) })).toEqual([]);
  });

  it('leaves out those that have not begun, have ended or are disabled', async () => {
    add(1, { startsAt: now + 1 });
    add(2, { endsAt: now });
    add(3, { enabled: false, updatedAt: now });
    add(4, { startsAt: now, endsAt: now + 1 });
    expect(await ids()).toEqual([4]);
  });

  it('lists what was shown again only when it is due for both ids', async () => {
    add(1, { definition: { frequency: 'once' } });
    add(2, { definition: { frequency: 'session' } });
    add(3);
    for (const campaign_id of [1, 2, 3])
      await act({ campaign_id, anonymous_id: 'a', action: 'shown' });
    expect(await ids({ user_id: 'u' })).toEqual([3]);
    expect(await ids({ user_id: 'u3', anonymous_id: 'a' })).toEqual([3]);
    expect(await ids({ user_id: 'u3' })).toEqual([1, 2, 3]);
    expect(await ids()).toEqual([1, 2, 3]);
    now += 30 * 60_000;
    expect(await ids({ user_id: 'u' })).toEqual([2, 3]);
  });

  it('lists it also after it was clicked but not shown', async () => {
    add(1, { definition: { frequency: 'once' } });
    await act({ campaign_id: 1, action: 'clicked' });
    expect(await ids({ user_id: 'u' })).toEqual([1]);
  });

  it('lists at most 100', async () => {
    for (let id = 1; id <= 120; id++) add(id);
    expect(await ids()).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
  });

  it('is not kept by browsers and proxies', async () => {
    const [list] = routes;
    const answer = await list?.answer({
      ...{ body: {}, query: '', trace: 't', receivedAt: now, ip: '', userAgent: '' },
      principal: { accountId: 1, appId: 1, writeKeyId: 1 },
    });
    expect(answer?.headers).toEqual(['Cache-Control', 'no-store']);
  });
});

describe('POST /v1/onsite/event', () => {
  it('becomes an event of the SDK', async () => {
    add(1, { definition: { kind: 'banner' } });
    expect(await act({ campaign_id: '1', action: 'clicked', message_id: 'm' })).toEqual([
      ...[200, { status: 'ok' }],
    ]);
    expect(accepted).toMatchObject([
      {
        ...{ source: 'sdk', path: '/v1/onsite/event', shape: 'single', type: 'track' },
        ...{ principal: { accountId: ACCOUNT, appId: 3 }, ip: '1.2.3.4', userAgent: 'UA' },
      },
    ]);
    expect(JSON.parse(accepted[0]?.body.toString() ?? '')).toEqual({
      ...{ event: 'onsite_clicked', user_id: 'u', message_id: 'm' },
      properties: { campaign_id: 1, kind: 'banner' },
    });
  });

  it('answers 200 and stores nothing for an unknown campaign', async () => {
    for (const campaign_id of [1, 'x', -5])
      expect((await act({ campaign_id, action: 'shown' }))[0]).toBe(200);
    expect(accepted).toEqual([]);
  });

  it('finds a campaign that was created a moment ago', async () => {
    appearing = campaign(1);
    await act({ campaign_id: 1, action: 'shown' });
    expect(accepted).toHaveLength(1);
  });

  it('answers 200 when the write failed, and when the campaigns cannot be read', async () => {
    add(1);
    result = { outcome: 'failed', failure: { code: 'unavailable' } };
    expect((await act({ campaign_id: 1, action: 'shown' }))[0]).toBe(200);
    isRead = false;
    expect((await act({ campaign_id: 2, action: 'shown' }))[0]).toBe(200);
  });

  it.each([
    [{ action: 'shown' }, 'campaign_id and a visitor id are required'],
    [{ campaign_id: 1, user_id: '', action: 'shown' }, 'campaign_id and a visitor id are required'],
    [{ campaign_id: 1, action: 'seen' }, 'unknown action'],
  ])('is refused: %j', async (body, message) => {
    expect(await act(body)).toEqual([400, { status: 'error', message }]);
  });

  it('for a campaign that has ended is an event for a day', async () => {
    add(1, { endsAt: now - 1000 });
    await act({ campaign_id: 1, action: 'dismissed' });
    expect(accepted).toHaveLength(1);
  });
});

describe('POST /v1/onsite/response', () => {
  beforeEach(() => add(1, { definition: { kind: 'survey', fields: FIELDS } }));

  it('becomes an event with the answers', async () => {
    const answers = { score: '4', comment: 'خوب' };
    expect(await respond({ campaign_id: 1, answers })).toEqual([200, { status: 'ok' }]);
    expect(accepted[0]?.path).toBe('/v1/onsite/response');
    expect(JSON.parse(accepted[0]?.body.toString() ?? '')).toEqual({
      ...{ event: 'onsite_submitted', user_id: 'u' },
      properties: {
        ...{ campaign_id: 1, kind: 'survey', score: 4, comment: 'خوب' },
        answers: { score: 4, comment: 'خوب' },
      },
    });
  });

  it.each([
    [{ campaign_id: 9 }, 'unknown campaign'],
    [{}, 'unknown campaign'],
    [{ campaign_id: 1, user_id: null }, 'a visitor id is required'],
    [{ campaign_id: 1 }, 'answers is not an object'],
    [{ campaign_id: 1, answers: {} }, "'score' is required"],
    [{ campaign_id: 1, answers: { score: 1, x: 1 } }, "there is no field 'x'"],
  ])('is refused: %j', async (body, message) => {
    expect(await respond(body)).toEqual([400, { status: 'error', message }]);
    expect(accepted).toEqual([]);
  });

  it('is answered 503 when it is not durable, and when its campaign may exist', async () => {
    const answers = { score: 1 };
    isRead = false;
    expect((await respond({ campaign_id: 9, answers }))[0]).toBe(503);
    result = { outcome: 'failed', failure: { code: 'unavailable' } };
    expect((await respond({ campaign_id: 1, answers }))[0]).toBe(503);
    result = { outcome: 'failed', failure: { code: 'quota_event_cap' } };
    expect((await respond({ campaign_id: 1, answers }))[0]).toBe(402);
  });
});
