import { afterEach, describe, expect, test } from 'vitest';
import { atEnd, closeAll, receiver } from '../../../platform/outbound/receivers.ts';
import type { ProviderAnswer } from '../provider.ts';
import { answerTable } from '../testing/answer-table.ts';
import { messageTo, providerDeps } from '../testing/provider-deps.ts';
import { openKavenegar } from './kavenegar.ts';
import { localIdOf } from './local-id.ts';

afterEach(closeAll);

async function sendTo(answer: (calls: number) => unknown, messages = [messageTo(PHONE)]) {
  let calls = 0;
  const { port, received } = await receiver((_, response) =>
    response.end(JSON.stringify(answer(++calls))),
  );
  const provider = openKavenegar(
    { sender: '10004346', url: `http://127.0.0.1:${port}` },
    { channel: 'sms', accountId: 1, secret: 'key/1', deps: providerDeps() },
  );
  atEnd(() => void provider.close());
  const { signal } = new AbortController();
  const answers: ProviderAnswer[] = [];
  for (const message of messages) answers.push(await provider.send(message, { signal }));
  return { answers, received };
}

const PHONE = { kind: 'phone', number: '+989121234567' } as const;
const accepted = (status = 1) => ({
  return: { status: 200, message: 'تایید شد' },
  entries: [{ messageid: 8792343, status, receptor: '09121234567' }],
});
const refused = (status: number) => ({ return: { status, message: 'خطا' }, entries: null });

test('a message is sent as a form with its localid, and the key in the path', async () => {
  const { answers, received } = await sendTo(() => accepted());
  expect(answers).toEqual([{ kind: 'accepted', providerMessageId: '8792343' }]);
  expect(received[0]?.url).toBe('/v1/key%2F1/sms/send.json');
  expect(Object.fromEntries(new URLSearchParams(received[0]?.body))).toEqual({
    receptor: '+989121234567',
    message: 'سلام نرگس',
    sender: '10004346',
    localid: localIdOf('c7.12.0123456789abcdef0123456789abcdef'),
  });
});

test('the same message again has the same localid, and another message another one', async () => {
  const other = { ...messageTo(PHONE), messageId: 'c7.12.f' };
  const { received } = await sendTo(() => accepted(), [messageTo(PHONE), messageTo(PHONE), other]);
  const ids = received.map(({ body }) => new URLSearchParams(body).get('localid'));
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[0]);
});

test('a localid has 63 bits and is never 0', () => {
  for (let number = 0; number < 1000; number++) {
    const id = BigInt(localIdOf(`c1.1.${number}`));
    expect(id > 0n && id < 2n ** 63n).toBe(true);
  }
});

describe('return.status', () => {
  const rows = answerTable('kavenegar').map(
    ({ status, code, expected }) => [status, code, expected] as const,
  );

  test.each(rows)('%i %s is %j', async (status, code, expected) => {
    const delivery = /^delivery (\d+)$/.exec(code)?.[1];
    const answer = status === 200 ? accepted(Number(delivery ?? 1)) : refused(status);
    expect((await sendTo(() => answer)).answers[0]).toMatchObject(expected);
  });

  test('says more than the HTTP status beside it', async () => {
    const { port } = await receiver((_, response) =>
      response.writeHead(418).end(JSON.stringify(refused(411))),
    );
    const provider = openKavenegar(
      { sender: '', url: `http://127.0.0.1:${port}` },
      { channel: 'sms', accountId: 1, secret: 'key', deps: providerDeps() },
    );
    atEnd(() => void provider.close());
    const { signal } = new AbortController();
    expect(await provider.send(messageTo(PHONE), { signal })).toMatchObject({
      kind: 'dead_address',
    });
  });
});

test('a text that is too long is not sent', async () => {
  const long = messageTo(PHONE, { text: 'س'.repeat(901) });
  const { answers, received } = await sendTo(() => accepted(), [long]);
  expect(answers[0]).toMatchObject({ kind: 'rejected', reason: 'too_large' });
  expect(received).toEqual([]);
});
