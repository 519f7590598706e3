import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RavandMessages, type Message } from './messages.ts';
import { startHost, type HostAnswer, type TestHost } from './testing/host.ts';

const MESSAGE: Message = {
  ...{ userId: 'sara', templateId: 5, idempotencyKey: 'order-17:paid', channel: 'sms' },
  vars: { code: 7 },
};
const SENT = { message_id: 't1.order-17:paid', status: 'sent', channel: 'sms', replayed: false };
const RESULT = { messageId: SENT.message_id, status: 'sent', channel: 'sms', replayed: false };

let host: TestHost;
beforeEach(async () => {
  host = await startHost();
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await host.close();
});

function send({ deadline = 5000, ...more }: Partial<Message> & { deadline?: number } = {}) {
  const messages = new RavandMessages({ managementKey: 'sk_svc_1', host: host.url, deadline });
  return messages.send({ ...MESSAGE, ...more });
}
const answer = (status: number, body: unknown = {}, headers = {}): HostAnswer => ({
  ...{ status, body, headers },
});

describe('a message', () => {
  it('is sent as the management host expects it', async () => {
    host.next.push(answer(200, SENT));
    expect(await send({ category: 'service' })).toEqual(RESULT);
    const [request] = host.received;
    expect(request?.path).toBe('/v1/messages');
    expect(request?.headers.authorization).toBe('Bearer sk_svc_1');
    // Any other field is refused.
    expect(request?.body).toEqual({
      ...{ user_id: 'sara', template_id: 5, channel: 'sms', idempotency_key: 'order-17:paid' },
      ...{ category: 'service', vars: { code: 7 } },
    });
  });

  it('that was skipped or has failed has a reason, and does not throw', async () => {
    const skipped = { ...SENT, status: 'skipped', reason: 'no_address', reason_fa: 'نشانی ندارد' };
    host.next.push(answer(200, skipped));
    expect(await send()).toEqual({
      ...{ ...RESULT, status: 'skipped' },
      ...{ reason: 'no_address', reasonFa: 'نشانی ندارد' },
    });
  });
});

describe('another try with the same key', () => {
  it.each<[string, HostAnswer]>([
    ['409: an earlier try still runs', answer(409, { error: 'in flight' }, { 'retry-after': '0' })],
    ['503: it was not sent', answer(503, { error: 'message not sent' })],
    ['429', answer(429, { error: 'rate limit exceeded' }, { 'retry-after': '0' })],
    ['502 of a proxy', answer(502, '<html>')],
    ['a lost answer', 'drop'],
  ])('follows %s', async (_, first) => {
    host.next.push(first, answer(200, { ...SENT, replayed: true }));
    expect(await send()).toEqual({ ...RESULT, replayed: true });
    const keys = host.received.map(({ body }) => body['idempotency_key']);
    expect(keys).toEqual(['order-17:paid', 'order-17:paid']);
  });

  it('waits as long as the host asks', async () => {
    host.next.push(answer(409, {}, { 'retry-after': '1' }), answer(200, SENT));
    const began = performance.now();
    await send();
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });
});

describe('an error', () => {
  it.each<[number, unknown, string]>([
    [400, { error: 'transactional: unknown channel' }, 'transactional: unknown channel'],
    [401, { error: { code: 'unauthenticated', message: 'a valid API key' } }, 'a valid API key'],
    [403, { error: { code: 'forbidden', message: 'no' } }, 'no'],
    [404, 'not json', 'HTTP 404'],
  ])('of %d says that it is never accepted so', async (status, body, message) => {
    host.next.push(answer(status, body));
    await expect(send()).rejects.toMatchObject({ code: 'refused', status, message });
    expect(host.received).toHaveLength(1);
  });

  it('of the deadline after 503 says that it was not sent', async () => {
    host.otherwise = () => answer(503, { error: 'message not sent' }, { 'retry-after': '60' });
    await expect(send()).rejects.toMatchObject({ code: 'unavailable', status: 503 });
  });

  it.each<[string, HostAnswer[]]>([
    ['a lost answer', ['drop']],
    ['409', [answer(409, {}, { 'retry-after': '60' })]],
    ['an answer of a proxy', [answer(504, {}, { 'retry-after': '60' })]],
    ['a lost answer, even when 503 follows', ['drop', answer(503, {}, { 'retry-after': '60' })]],
  ])('of the deadline after %s says that nobody knows', async (_, answers) => {
    vi.spyOn(Math, 'random').mockReturnValue(answers.length > 1 ? 0 : 1);
    host.next.push(...answers);
    host.otherwise = () => 'drop';
    await expect(send({ deadline: 500 })).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(/send it again with the same key$/) as string,
    });
  });

  it('of the configuration is one at once', () => {
    expect(() => new RavandMessages({ managementKey: '', host: host.url })).toThrow(
      expect.objectContaining({ code: 'configuration' }),
    );
    expect(() => new RavandMessages({ managementKey: 'k', host: 'nowhere' })).toThrow(
      expect.objectContaining({ code: 'configuration' }),
    );
  });
});
