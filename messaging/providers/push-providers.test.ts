import { createServer } from 'node:net';
import { createServer as createHttpsServer } from 'node:https';
import { afterEach, describe, expect, test } from 'vitest';
import { respond, type ReceivedPost } from '../../platform/http2/testing/receivers.ts';
import { selfSigned } from '../../platform/http2/testing/self-signed.ts';
import { closeAll, listen } from '../../platform/outbound/receivers.ts';
import type { ProviderAnswer, Target } from './provider.ts';
import { openProvider } from './registry.ts';
import { answerTable } from './testing/answer-table.ts';
import { messageTo, providerDeps } from './testing/provider-deps.ts';
import { APNS, ENDED_AT, FCM, NEVER, startService, WEB_PUSH } from './testing/push-services.ts';

afterEach(closeAll);

describe.each([FCM, APNS, WEB_PUSH])('$name', (service) => {
  const { name, channel } = service;
  const table = answerTable(name);

  test('has a table with answers of every kind', () => {
    const kinds = new Set(table.map(({ expected }) => expected.kind));
    expect([...kinds]).toEqual(
      expect.arrayContaining(['accepted', 'rejected', 'dead_address', 'retry']),
    );
  });

  test.each(table.map((row) => [row.status, row.code, row.expected, row] as const))(
    'answers %i %s: that is %j',
    async (_status, code, expected, row) => {
      const isLater = /^(\w+ )?later$/.test(code);
      const { send, base, messages } = await startService(service, (one, count) =>
        respond(one, service.answer(isLater && count === 1 ? { ...row, ...OK } : row)),
      );
      if (isLater) expect(await send()).toMatchObject({ kind: 'accepted' });
      const to = service.target(base);
      const isNewer = code.endsWith('registered later');
      const answer = await send({
        to: isNewer ? ({ ...to, registeredAt: ENDED_AT + 1 } as Target) : to,
      });
      expect(answer).toMatchObject(expected);
      if (!('afterMs' in expected)) expect(answer).not.toHaveProperty('afterMs');
      // An access token that was refused is replaced once; nothing else is repeated.
      const calls = name === 'fcm' && row.status === 401 && code === '' ? 2 : 1;
      expect(messages).toHaveLength(calls + (isLater ? 1 : 0));
    },
  );

  test('refuses addresses of other senders until ten were refused: then the sender is broken', async () => {
    const row = table.find(
      ({ expected }) => 'reason' in expected && expected.reason === 'undecided',
    );
    if (!row) throw new Error(`the table of ${name} has no undecided row`);
    const { send, base } = await startService(service, (one) => respond(one, service.answer(row)));
    const [first, ...others] = Array.from({ length: 10 }, () => service.target(base));
    const answers: ProviderAnswer[] = [];
    // The first one is tried again and again: it is one address.
    for (const to of [...Array<Target>(20).fill(first as Target), ...others])
      answers.push(await send({ to }));
    expect(answers.slice(0, -1).map(({ kind }) => kind)).toEqual(Array(28).fill('retry'));
    expect(answers.at(-1)).toMatchObject({ kind: 'broken', reason: 'credentials' });
  });

  describe('certainly did not take a message:', () => {
    const closing = () => listen(createServer((socket) => socket.destroy()));

    test.each<[string, () => Promise<string>]>([
      ['it refuses connections', () => Promise.resolve('https://push.example:1')],
      ['it closes connections', async () => `https://push.example:${await closing()}`],
      [
        'it has the certificate of another host',
        async () => (await startService(service)).base.replace('push.', 'other.'),
      ],
    ])('%s', async (_, start) => {
      const { open } = await startService(service);
      const at = await start();
      const provider = open({ at, allow: ['push.example', 'other.example'] });
      const answer = await provider.send(messageTo(service.target(at)), { signal: NEVER });
      expect(answer).toMatchObject({ kind: 'retry', reason: 'unreachable' });
    });

    test('it refuses the stream, each time', async () => {
      const { send, messages } = await startService(service, ({ stream }) => stream.close(7));
      expect(await send()).toMatchObject({ kind: 'retry', reason: 'unreachable' });
      expect(messages).toHaveLength(3);
    });

    test('its GOAWAY names an earlier stream; the next connection takes the message', async () => {
      const { send, messages, receiver } = await startService(service, (one, count) => {
        if (count === 2) one.stream.session?.goaway(0, (one.stream.id ?? 0) - 2);
        else respond(one, service.answer({ ...OK, expected: {} }));
      });
      expect(await send()).toMatchObject({ kind: 'accepted' });
      expect(await send()).toMatchObject({ kind: 'accepted' });
      const [, refused, again] = messages;
      expect(again?.body).toEqual(refused?.body);
      expect(receiver.sessions).toHaveLength(2);
    });

    test('the caller stopped before', async () => {
      const { send, messages } = await startService(service);
      expect(await send({}, AbortSignal.abort())).toMatchObject({ kind: 'retry' });
      expect(messages).toHaveLength(0);
    });
  });

  describe('may have taken a message, which is sent once:', () => {
    test.each<[string, (one: ReceivedPost) => void]>([
      ['it closes the connection', ({ stream }) => stream.session?.destroy()],
      ['it cuts the connection', ({ stream }) => stream.session?.socket.destroy()],
      ['it resets the stream', ({ stream }) => stream.close(8)],
      [
        'its GOAWAY names the stream of the message, and it closes',
        ({ stream }) => {
          stream.session?.goaway(1, stream.id);
          setTimeout(() => stream.session?.destroy(), 10);
        },
      ],
    ])('%s', async (_, misbehave) => {
      const { send, messages } = await startService(service, misbehave);
      expect(await send()).toMatchObject({ kind: 'unknown', reason: 'no_answer' });
      expect(messages).toHaveLength(1);
    });

    test('the caller stops while it waits', async () => {
      const stop = new AbortController();
      const { send, messages } = await startService(service, () => stop.abort());
      expect(await send({}, stop.signal)).toMatchObject({ kind: 'unknown' });
      expect(messages).toHaveLength(1);
    });
  });

  test('took a message when the answer ends after its status', async () => {
    const { send } = await startService(service, ({ stream }) => {
      stream.respond({ ':status': name === 'webpush' ? 201 : 200 });
      stream.write('{');
      setTimeout(() => stream.session?.destroy(), 10);
    });
    expect(await send()).toMatchObject({ kind: 'accepted' });
  });

  test('has its messages over HTTP/1.1 when it speaks no HTTP/2', async () => {
    const versions: string[] = [];
    const server = createHttpsServer(selfSigned(), (request, response) => {
      request.resume().on('end', () => {
        versions.push(request.httpVersion);
        response.writeHead(name === 'webpush' ? 201 : 200).end('{}');
      });
    });
    const at = `https://push.example:${await listen(server)}`;
    const { open } = await startService(service);
    const answer = await open({ at }).send(messageTo(service.target(at)), { signal: NEVER });
    expect(answer).toMatchObject({ kind: 'accepted' });
    expect(versions).toEqual(['1.1']);
  });

  test('sends nothing to targets of other kinds', async () => {
    const { send, messages } = await startService(service);
    expect(await send({ to: { kind: 'phone', number: '+989121234567' } })).toMatchObject({
      kind: 'rejected',
    });
    expect(messages).toHaveLength(0);
  });

  test('cannot be configured with fields that it does not have, nor without a secret', () => {
    const opening = { accountId: 1, channel, provider: name, deps: providerDeps() };
    const config = { ...service.config('https://push.example'), junk: 1 };
    expect(() => openProvider({ ...opening, config, secret: 'x' })).toThrow('no field junk');
    expect(() => openProvider({ ...opening, config, secret: '' })).toThrow('needs a secret');
  });

  test('cannot be opened with another secret, which is not repeated', () => {
    const opening = { accountId: 1, channel, provider: name, deps: providerDeps() };
    const config = service.config('https://push.example');
    for (const secret of [
      's3cret',
      '{"private_key":"s3cret","client_email":"a"}',
      '-----BEGIN s3cret',
    ])
      try {
        openProvider({ ...opening, config, secret });
        expect.unreachable();
      } catch (error) {
        expect((error as Error).message).toContain(`${name}: `);
        expect((error as Error).message).not.toContain('s3cret');
      }
  });
});

const OK = { status: 200, code: '' };

describe.each([FCM, APNS])('a device of another push service has nothing of $name', (service) => {
  test.each(['fcm', 'apns', 'hms'] as const)('%s', async (provider) => {
    const { send, base, messages } = await startService(service);
    const to = { ...service.target(base), provider } as Target;
    const own = { kind: 'accepted' };
    const other = { kind: 'rejected', reason: 'unsupported_push_service' };
    expect(await send({ to })).toMatchObject(provider === service.name ? own : other);
    expect(messages).toHaveLength(provider === service.name ? 1 : 0);
  });

  test('and nothing is sent to a forbidden address that an account configured', async () => {
    const { open, base, messages } = await startService(service);
    const provider = open({ at: base, allow: ['another.example'] });
    const answer = await provider.send(messageTo(service.target(base)), { signal: NEVER });
    expect(answer).toMatchObject({ kind: 'broken', reason: 'address_refused' });
    expect(messages).toHaveLength(0);
  });
});
