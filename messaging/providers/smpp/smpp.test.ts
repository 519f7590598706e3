import { createServer as createTcpServer } from 'node:net';
import { createServer, type Pdu, type Session } from 'smpp';
import { afterEach, describe, expect, test } from 'vitest';
import { atEnd, closeAll, listen } from '../../../platform/outbound/receivers.ts';
import type { Provider, ProviderAnswer } from '../provider.ts';
import { answerTable } from '../testing/answer-table.ts';
import { messageTo, providerDeps } from '../testing/provider-deps.ts';
import { bindFailure, refusalOf } from './classify.ts';
import { parseSmppConfig } from './config.ts';
import { openSmpp } from './smpp.ts';

/** Against the server of the smpp package. */

afterEach(closeAll);

const PHONE = { kind: 'phone', number: '+989121234567' } as const;
const ok = (pdu: Pdu, session: Session) => session.send(pdu.response({ message_id: '7A1' }));

interface Centre {
  bind?: (pdu: Pdu, session: Session) => unknown;
  submit?: (pdu: Pdu, session: Session, count: number) => unknown;
}

async function centre({
  bind = (pdu, session) => session.send(pdu.response()),
  submit = ok,
}: Centre) {
  const submitted: Pdu[] = [];
  const binds: Pdu[] = [];
  const sessions: Session[] = [];
  const server = createServer((session) => {
    sessions.push(session);
    session.on('error', () => undefined);
    session.on('bind_transceiver', (pdu: Pdu) => {
      binds.push(pdu);
      bind(pdu, session);
    });
    session.on('submit_sm', (pdu: Pdu) => submit(pdu, session, submitted.push(pdu)));
    session.on('unbind', (pdu: Pdu) => session.send(pdu.response()));
  });
  const port = await listen(server);
  atEnd(() => sessions.forEach((session) => session.destroy()));
  return { port, submitted, binds, sessions };
}

function open(port: number, config: object = {}, now?: () => number): Provider {
  const provider = openSmpp(
    parseSmppConfig({ host: '127.0.0.1', port, system_id: 'shop', source: '10004346', ...config }),
    {
      ...{ channel: 'sms', accountId: 1, secret: 'hunter22' },
      deps: providerDeps(now ? { now } : { now: () => Date.now() }),
    },
  );
  atEnd(() => void provider.close());
  return provider;
}

const send = (provider: Provider, text = 'سلام', signal = new AbortController().signal) =>
  provider.send(messageTo(PHONE, { text }), { signal });

async function sendTo(script: Centre, text?: string) {
  const made = await centre(script);
  return { answer: await send(open(made.port), text), ...made };
}

test('a message is submitted as a transceiver, in UCS-2', async () => {
  const { answer, binds, submitted } = await sendTo({});
  expect(answer).toEqual({ kind: 'accepted', providerMessageId: '7A1' });
  expect(binds).toMatchObject([
    { system_id: 'shop', password: 'hunter22', interface_version: 0x34 },
  ]);
  expect(submitted).toMatchObject([
    {
      ...{ source_addr: '10004346', destination_addr: '989121234567', dest_addr_ton: 1 },
      ...{ data_coding: 8, esm_class: 0, short_message: { message: 'سلام' } },
    },
  ]);
});

test('a long message is submitted in parts that belong together', async () => {
  const text = 'سلام '.repeat(40);
  const { answer, submitted } = await sendTo({}, text);
  expect(answer.kind).toBe('accepted');
  expect(submitted.map(({ esm_class: esmClass }) => esmClass)).toEqual([0x40, 0x40, 0x40]);
  expect(submitted.map(({ short_message: part }) => part?.message).join('')).toBe(text);
});

test('a receipt before the response is acknowledged, and the response still counts', async () => {
  const acknowledged: Pdu[] = [];
  const { answer } = await sendTo({
    submit(pdu, session) {
      session.on('deliver_sm_resp', (response: Pdu) => {
        acknowledged.push(response);
        ok(pdu, session);
      });
      const text = 'id:1953 sub:001 dlvrd:001 stat:DELIVRD err:000 text:';
      session.deliver_sm({ esm_class: 4, short_message: text });
    },
  });
  expect(answer.kind).toBe('accepted');
  expect(acknowledged).toMatchObject([{ command_status: 0 }]);
});

test('an enquiry of the message centre is answered', async () => {
  const { answer } = await sendTo({
    submit: (pdu, session) => session.enquire_link({}, () => ok(pdu, session)),
  });
  expect(answer.kind).toBe('accepted');
});

describe('a message centre that', () => {
  const rows = answerTable('smpp').map((row) => [row.status, row.code, row.expected] as const);

  test.each(rows)('answers %i %s: that is %j', async (command_status, code, expected) => {
    const refuse = (pdu: Pdu, session: Session) => session.send(pdu.response({ command_status }));
    const script = code.startsWith('bind') ? { bind: refuse } : { submit: refuse };
    expect((await sendTo(script)).answer).toMatchObject(expected);
  });

  test.each<[string, Centre, Partial<ProviderAnswer>]>([
    [
      'cuts the connection after the message',
      { submit: (_, session) => session.destroy() },
      { kind: 'unknown', reason: 'no_answer' },
    ],
    [
      'answers nonsense',
      { submit: (_, session) => session.socket.write(Buffer.alloc(64, 0xff)) },
      { kind: 'unknown' },
    ],
    [
      'cuts the connection at the bind',
      { bind: (_, session) => session.destroy() },
      { kind: 'retry', reason: 'unreachable' },
    ],
  ])('%s', async (_, script, expected) => {
    const { answer, sessions } = await sendTo(script);
    expect(answer).toMatchObject(expected);
    expect(sessions).toHaveLength(1);
  });

  test('is not there', async () => {
    expect(await send(open(1, { port: 1025 }))).toMatchObject({ kind: 'retry' });
  });

  test('speaks another protocol', async () => {
    const port = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.end('220 mx.example ESMTP\r\n');
      }),
    );
    expect(await send(open(port))).toMatchObject({ kind: 'retry', reason: 'unreachable' });
  });

  test('does not answer is left when the caller stops: the message may have been sent', async () => {
    const stop = new AbortController();
    const { port } = await centre({ submit: () => stop.abort() });
    expect(await send(open(port), 'سلام', stop.signal)).toMatchObject({ kind: 'unknown' });
  });

  test('the address guard forbids is not called', async () => {
    const { port, sessions } = await centre({});
    const provider = openSmpp(
      parseSmppConfig({ host: '127.0.0.1', port, system_id: 'shop', source: '1000' }),
      { channel: 'sms', accountId: 1, secret: 'x', deps: providerDeps({ allow: [] }) },
    );
    atEnd(() => void provider.close());
    expect(await send(provider)).toMatchObject({ kind: 'broken', reason: 'address_refused' });
    expect(sessions).toHaveLength(0);
  });
});

describe('of a message in parts', () => {
  const text = 'س'.repeat(100);

  test('nothing more is sent when the first part is refused', async () => {
    const { answer, submitted } = await sendTo(
      { submit: (pdu, session) => session.send(pdu.response({ command_status: 0x0b })) },
      text,
    );
    expect(answer.kind).toBe('dead_address');
    expect(submitted).toHaveLength(1);
  });

  test('a later part that is throttled is sent again, and the first one is not', async () => {
    const { answer, submitted } = await sendTo(
      {
        submit: (pdu, session, count) =>
          count === 2 ? session.send(pdu.response({ command_status: 0x58 })) : ok(pdu, session),
      },
      text,
    );
    expect(answer.kind).toBe('accepted');
    expect(submitted).toHaveLength(3);
  });

  test('the outcome is unknown when a later part is refused', async () => {
    const { answer } = await sendTo(
      {
        submit: (pdu, session, count) =>
          count === 2 ? session.send(pdu.response({ command_status: 0xff })) : ok(pdu, session),
      },
      text,
    );
    expect(answer).toMatchObject({ kind: 'unknown', reason: 'partly_accepted' });
  });

  test('there are at most 20', async () => {
    const { answer, submitted } = await sendTo({}, 'س'.repeat(67 * 20 + 1));
    expect(answer).toMatchObject({ kind: 'rejected', reason: 'too_large' });
    expect(submitted).toHaveLength(0);
  });
});

describe('the session', () => {
  test('is shared, and at most ten messages wait for their responses', async () => {
    let waiting = 0;
    let most = 0;
    const { port, sessions, submitted } = await centre({
      submit(pdu, session) {
        most = Math.max(most, ++waiting);
        setImmediate(() => {
          waiting--;
          ok(pdu, session);
        });
      },
    });
    const provider = open(port);
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(provider)));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
    expect([sessions.length, submitted.length]).toEqual([1, 50]);
    expect(most).toBeLessThanOrEqual(10);
  });

  test('is bound again after it was lost', async () => {
    const { port, sessions } = await centre({});
    const provider = open(port);
    await send(provider);
    sessions[0]?.destroy();
    await expect.poll(async () => (await send(provider)).kind).toBe('accepted');
    expect(sessions).toHaveLength(2);
  });

  test('that cannot be bound is tried again later, not with each message', async () => {
    let now = 1_000_000;
    const { port, sessions } = await centre({
      bind: (pdu, session) => session.send(pdu.response({ command_status: 0x05 })),
    });
    const provider = open(port, {}, () => now);
    await send(provider);
    expect(await send(provider)).toMatchObject({ kind: 'retry', afterMs: 100 });
    expect(sessions).toHaveLength(1);
    now += 101;
    await send(provider);
    expect(sessions).toHaveLength(2);
  });

  test('ends with an unbind when the sender is closed', async () => {
    let unbinds = 0;
    const { port, sessions } = await centre({});
    const provider = open(port);
    await send(provider);
    sessions[0]?.on('unbind', () => unbinds++);
    await provider.close();
    await expect.poll(() => unbinds).toBe(1);
  });

  test('that the message centre ends is not used any more', async () => {
    const { port, sessions } = await centre({});
    const provider = open(port);
    await send(provider);
    sessions[0]?.unbind();
    await expect.poll(() => sessions[0]?.socket.readableEnded).toBe(true);
    expect((await send(provider)).kind).toBe('accepted');
    expect(sessions).toHaveLength(2);
  });
});

test('every status is classified', () => {
  for (let status = 1; status < 0x120; status++) {
    expect(refusalOf(status).kind).not.toBe('unknown');
    expect(['retry', 'broken']).toContain(bindFailure(status).kind);
  }
});

test.each([
  [{}, 'host is missing'],
  [{ host: 'x', port: 2775 }, 'system_id is missing'],
  [{ host: 'x', port: 2775, system_id: 'sixteencharacter', source: '1' }, 'system_id has to be'],
  [{ host: 'x', port: 2775, system_id: 'a', source: 'فروشگاه' }, 'source has to be'],
  [{ host: 'x', port: '2775', system_id: 'a', source: '1' }, 'port has to be'],
])('a sender cannot be configured with %j', (config, message) => {
  expect(() => parseSmppConfig(config)).toThrow(message);
});
