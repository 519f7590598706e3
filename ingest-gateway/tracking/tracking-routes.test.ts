import type { FastifyInstance } from 'fastify';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClientClock } from '../../platform/http/client-clock.ts';
import { createLog } from '../../platform/log.ts';
import { OpenConnections } from '../http/connection-limit.ts';
import { createHost } from '../http/host.ts';
import { EventServer } from '../http/serve-events.ts';
import { connectTracking } from './connect-tracking.ts';
import { FakePorts, MESSAGE, tokens } from './testing/serve-routes.ts';
import { trackingRoutes } from './tracking-routes.ts';

let host: FastifyInstance;
let origin: string;
let ports: FakePorts;
let opens: number;
const log = createLog({ part: 'test', level: 'silent' });

beforeEach(async () => {
  ports = new FakePorts();
  opens = 0;
  const { budget } = ports;
  const common = { trusted: undefined, log, now: () => 1000, onAnswered: () => undefined };
  const more = trackingRoutes({
    ...{ ...common, tokens, budget, maxRequests: 100, isClosing: () => false },
    ports: { recipientOf: ports.recipientOf, record: ports.record, recordOpen: () => opens++ },
  });
  const events = new EventServer({
    ...{ ...common, budget, maxRequests: 100, maxBodyBytes: 1000 },
    keys: { verify: () => 'invalid' },
    service: { accept: () => Promise.reject(new Error('no event is expected')) },
  });
  host = createHost({
    ...{ routes: [], events, more, clock: new ClientClock(), turns: budget.turns },
    ...{ connections: new OpenConnections(100), onAnswered: () => undefined },
  });
  await host.listen({ host: '127.0.0.1', port: 0 });
  origin = `http://127.0.0.1:${(host.server.address() as AddressInfo).port}`;
});
afterEach(() => host.close());

const ask = (path: string, init: RequestInit = {}) => fetch(origin + path, init);
const open = `/e/o/${tokens.write('open', MESSAGE)}`;
const unsubscribe = `/e/u/${tokens.write('unsubscribe', MESSAGE)}`;
const preferences = `/e/p/${tokens.write('preferences', MESSAGE)}`;
const bounce = `/v1/bounce/${tokens.write('bounce', MESSAGE)}`;

describe('on the ingest host', () => {
  it('what a link scanner fetches, by GET and HEAD, changes nothing', async () => {
    for (const path of [unsubscribe, preferences])
      for (const method of ['GET', 'HEAD']) expect((await ask(path, { method })).status).toBe(200);
    expect((await ask(open, { method: 'HEAD' })).status).toBe(200);
    expect([ports.recorded.length, opens]).toEqual([0, 0]);
  });

  it('an open, a form and a bounce reach their routes, with the Content-Type as sent', async () => {
    expect((await ask(open)).status).toBe(200);
    await expect.poll(() => opens).toBe(1);
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    expect((await ask(unsubscribe, { method: 'POST', body: form })).status).toBe(200);
    const choice = new URLSearchParams({ shown: 'sms:unsubscribed', on: 'sms' });
    expect((await ask(preferences, { method: 'POST', body: choice })).status).toBe(200);
    const mail = 'Content-Type: message/delivery-status\n\nAction: failed\nStatus: 5.1.1\n';
    expect((await ask(bounce, { method: 'POST', body: mail })).status).toBe(200);
    const done = ports.recorded.map(({ change }) => [change.kind, change.consent?.text_version]);
    expect(done).toEqual([
      ['consent_changed', 'one-click'],
      ['consent_changed', 'preferences-fa-1'],
      ['address_suppressed', undefined],
    ]);
  });

  it('/e/ has no CORS, also for OPTIONS, and other methods are not found', async () => {
    for (const [path, method] of [
      [open, 'OPTIONS'],
      [unsubscribe, 'OPTIONS'],
      [unsubscribe, 'PUT'],
      [open, 'POST'],
    ] as const) {
      const answer = await ask(path, { method, headers: { Origin: 'https://shop.example' } });
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    }
    expect((await ask(bounce)).status).toBe(405);
    expect((await ask(bounce, { method: 'OPTIONS' })).status).toBe(204);
  });

  it('a token that is longer than any, or escaped, is a plain 404', async () => {
    for (const token of ['A'.repeat(10_000), '%00', '%', '..%2F..%2F', '']) {
      const answer = await ask(`/e/u/${token}`);
      expect([answer.status, await answer.text()]).toEqual([404, 'not found\n']);
    }
  });
});

it('without TRACKING_KEYS none of the routes is served', async () => {
  const none = connectTracking({
    ...{ clients: undefined, budget: ports.budget, maxRequests: 1, trusted: undefined, log },
    ...{ now: () => 0, isClosing: () => false, onAnswered: () => undefined },
    commands: { write: ports.record },
    writer: { write: () => Promise.reject(new Error('no event is expected')) },
  });
  expect(none.routes).toEqual([]);
  await none.close(0);
});
