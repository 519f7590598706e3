import { afterEach, expect, it } from 'vitest';
import { BodyDecider } from '../../ingest/body-decider.ts';
import { createLog } from '../../platform/log.ts';
import { buildApp } from '../app.ts';
import { OpenRequests } from '../../account-api/limits/open-requests.ts';
import { decideFeatures } from '../../account-api/features.ts';
import type { Services } from '../services.ts';
import { bytesOf } from '../../schemas/raw-record-encoder.ts';

const MIB = 1024 * 1024;
const deciders: BodyDecider[] = [];

afterEach(async () => {
  await Promise.all(deciders.splice(0).map((decider) => decider.close()));
});

/** The route, with what it writes: the records of the log are those of the body as it was sent. */
function build() {
  const decider = new BodyDecider({ maxBodyBytes: 8 * MIB, random: Math.random });
  deciders.push(decider);
  const batches: string[] = [];
  const on = {
    ...{ segments: true, analytics: true, ingest: true, asyncExports: true },
    ...{ campaigns: true, campaignRecurrence: true, campaignApproval: true },
    transactional: true,
  };
  const services = {
    log: createLog({ part: 'test', level: 'silent' }),
    features: decideFeatures(on),
    resolveToken: () =>
      Promise.resolve({
        kind: 'key',
        key: {
          ...{ keyId: 7, accountId: 3, role: 'admin', expiresAt: Infinity },
          ...{ revoked: false, accountActive: true, ipAllow: [], messageLimit: null },
        },
      }),
    chargeBudget: () => Promise.resolve(1),
    budgetPerMinute: 600,
    openRequests: new OpenRequests(32),
    imports: {
      decider,
      checkQuota: () => Promise.resolve(undefined),
      makeId: () => 'id',
      writer: {
        write: ({ events, bytes }) => {
          batches.push(bytesOf(bytes.batchOf(Array.from(events.keys()), 1)).toString());
          return Promise.resolve(0);
        },
      },
    },
  } as Partial<Services> as Services;
  const app = buildApp({ services, trustedProxies: [] });
  const send = async (payload: string) => {
    const headers = { 'x-service-key': 'sk_svc_x' };
    const answer = await app.inject({ method: 'POST', url: '/v1/events', headers, payload });
    return { status: answer.statusCode, body: answer.json<unknown>() };
  };
  return { send, decider, batches };
}

const many = (unit: string, bytes: number) => unit.repeat(Math.floor(bytes / unit.length));

it('an import that is expensive to parse is decided outside of the event loop', async () => {
  const { send, decider, batches } = build();
  const dense = `[${many('[],', 7.9 * MIB)}[]]`;
  const event = (more: string) => `{"type":"track","event":"e","user_id":"u"${more}}`;
  expect((await send(`{"x":${dense},"events":[]}`)).body).toMatchObject({
    error: { code: 'batch_empty' },
  });
  expect((await send(`{"events":${dense}}`)).body).toMatchObject({
    error: {
      code: 'batch_too_large',
      details: { limit: 500, sent: Math.floor((7.9 * MIB) / 3) + 1 },
    },
  });
  expect((await send(dense)).body).toMatchObject({ error: { code: 'malformed_json' } });
  const answer = await send(
    `{"events":[${event('')},${event(`,"properties":{"a":${dense},"b":1}`)}]}`,
  );
  expect(answer).toEqual({ status: 202, body: { accepted: 2 } });
  expect(decider.counters).toMatchObject({ inline: 0, thread: 4, failed: 0 });
  // of the nested value the log has what is stored
  expect(JSON.parse(batches[0] ?? '')).toMatchObject({ batch: [{}, { properties: { b: 1 } }] });
  expect(batches[0]?.length).toBeLessThan(32 * 1024);
});

it('an ordinary import is decided at once, and its events are cut from the bytes', async () => {
  const { send, decider, batches } = build();
  const event = '{"type":"track","event":"e","user_id":"u","properties":{"n":1.0}}';
  const wrong = '{"type":"nonsense","user_id":"u"}';
  expect(await send(`{"events":[${wrong},${event}]}`)).toMatchObject({
    status: 202,
    body: { accepted: 1, rejected: 1, errors: [{ index: 0 }] },
  });
  expect(decider.counters).toMatchObject({ inline: 1, thread: 0 });
  expect((await send(`{"events":[${wrong}]}`)).body).toMatchObject({
    error: { code: 'all_events_rejected', details: [{ index: 0 }] },
  });
  for (const text of ['{"events":7}', '[]', '{"events":[0]}', '', '{"events":'])
    expect((await send(text)).body).toMatchObject({ error: { code: 'malformed_json' } });
  // that all events were rejected is written too, for the quality report
  expect(batches).toHaveLength(2);
});

it('more imports of an account than can wait are answered 503', async () => {
  const { send } = build();
  const dense = `{"events":[${many('{},', 0.2 * MIB)}{}]}`;
  const answers = await Promise.all(Array.from({ length: 33 }, () => send(dense)));
  const statuses = answers.map(({ status }) => status);
  // 32 requests of an account are open at a time
  expect(statuses.filter((status) => status === 413)).toHaveLength(32);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1);
});
