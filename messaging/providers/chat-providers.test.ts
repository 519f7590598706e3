import { afterEach, describe, expect, test } from 'vitest';
import { atEnd, closeAll, receiver } from '../../platform/outbound/receivers.ts';
import { openBale } from './bale/bale.ts';
import { escapeMarkdown } from './bale/escape-markdown.ts';
import { openEitaa } from './eitaa/eitaa.ts';
import { openRubika } from './rubika/rubika.ts';
import type { ProviderAnswer, RenderedContent } from './provider.ts';
import { answerTable } from './testing/answer-table.ts';
import { messageTo, providerDeps } from './testing/provider-deps.ts';

afterEach(closeAll);

const OPEN = { bale: openBale, eitaa: openEitaa, rubika: openRubika };

interface Sent {
  answer: ProviderAnswer;
  received: { url: string; body: string; type: string | undefined }[];
}

/** Sends one message to a receiver that answers with the statuses and bodies in turn. */
async function sendWith(
  name: keyof typeof OPEN,
  answers: readonly [status: number, body: unknown][],
  options: { chatId?: string; content?: Partial<RenderedContent> } = {},
): Promise<Sent> {
  let calls = 0;
  const { port, received } = await receiver((_, response) => {
    const [status, body] = answers[Math.min(calls++, answers.length - 1)] ?? [500, {}];
    response.writeHead(status).end(JSON.stringify(body));
  });
  const provider = OPEN[name](
    { url: `http://127.0.0.1:${port}` },
    { channel: name, accountId: 1, secret: '12:to/ken', deps: providerDeps() },
  );
  atEnd(() => void provider.close());
  const { chatId = '4711', content } = options;
  const { signal } = new AbortController();
  const answer = await provider.send(messageTo({ kind: 'chat', chatId }, content), { signal });
  const shown = received.map(({ url, body, headers }) => ({
    ...{ url, body, type: headers['content-type'] },
  }));
  return { answer, received: shown };
}

const rowsOf = (name: string) =>
  answerTable(name).map(({ status, code, expected }) => [status, code, expected] as const);

const JSON_TYPE = 'application/json';

describe('bale', () => {
  const ok = [200, { ok: true, result: { message_id: 90 } }] as const;

  test('gets chat and text in JSON, and the token in the path', async () => {
    const { answer, received } = await sendWith('bale', [[...ok]]);
    expect(answer).toEqual({ kind: 'accepted', providerMessageId: '90' });
    expect(received).toEqual([
      {
        url: '/bot12%3Ato%2Fken/sendMessage',
        type: JSON_TYPE,
        body: '{"chat_id":4711,"text":"سلام نرگس"}',
      },
    ]);
  });

  test('gets names of chats as texts', async () => {
    const { received } = await sendWith('bale', [[...ok]], { chatId: '@shop' });
    expect(received[0]?.body).toContain('"chat_id":"@shop"');
  });

  test.each(rowsOf('bale'))('answers %i %s: that is %j', async (status, code, expected) => {
    const seconds = /^retry_after (\d+)$/.exec(code)?.[1];
    const parameters = seconds === undefined ? {} : { retry_after: Number(seconds) };
    const refusal = { ok: false, error_code: status, description: code, parameters };
    const body = status === 200 ? ok[1] : refusal;
    // The code of the body counts, whatever the HTTP status is.
    for (const httpStatus of [status, 200])
      expect((await sendWith('bale', [[httpStatus, body]])).answer).toMatchObject(expected);
  });

  test('refuses without a code: the message is refused', async () => {
    const { answer } = await sendWith('bale', [[200, { ok: false }]]);
    expect(answer).toMatchObject({ kind: 'rejected' });
  });

  test('shows texts as they are: what came from a variable formats nothing', () => {
    expect(escapeMarkdown('*a* _b_ [c](d) `e` \\')).toBe('\\*a\\* \\_b\\_ \\[c\\](d) \\`e\\` \\\\');
  });

  test('keeps links as they are', () => {
    const text = 'خرید_: https://shop.example/a_b?sg_mid=c1.2.3&utm_source=x_y *';
    expect(escapeMarkdown(text)).toBe(
      'خرید\\_: https://shop.example/a_b?sg_mid=c1.2.3&utm_source=x_y \\*',
    );
  });

  test('gets no text of more than 4,096 characters', async () => {
    const content = { text: '*'.repeat(2049) };
    const { answer, received } = await sendWith('bale', [[...ok]], { content });
    expect(answer).toMatchObject({ kind: 'rejected', reason: 'too_large' });
    expect(received).toEqual([]);
  });
});

describe('eitaa', () => {
  const ok = [200, { ok: true, result: { message_id: 5 } }] as const;

  test('reaches a person through the mini app', async () => {
    const { answer, received } = await sendWith('eitaa', [[...ok]]);
    expect(answer).toEqual({ kind: 'accepted', providerMessageId: '5' });
    expect(received).toEqual([
      {
        url: '/api/app/sendMessage',
        type: JSON_TYPE,
        body: '{"token":"12:to/ken","chat_id":4711,"text":"سلام نرگس"}',
      },
    ]);
  });

  test('reaches a channel by its name', async () => {
    const { received } = await sendWith('eitaa', [[...ok]], { chatId: '@shop' });
    expect(received[0]?.url).toBe('/api/12%3Ato%2Fken/sendMessage');
    expect(Object.fromEntries(new URLSearchParams(received[0]?.body))).toEqual({
      chat_id: '@shop',
      text: 'سلام نرگس',
    });
  });

  test('accepts also when it names no message', async () => {
    const { answer } = await sendWith('eitaa', [[200, { ok: true, result: true }]]);
    expect(answer).toEqual({ kind: 'accepted', providerMessageId: '' });
  });

  test.each(rowsOf('eitaa'))('answers %i %s: that is %j', async (status, code, expected) => {
    const body = status === 200 ? ok[1] : { ok: false, error_code: status, description: code };
    for (const httpStatus of [status, 200])
      expect((await sendWith('eitaa', [[httpStatus, body]])).answer).toMatchObject(expected);
  });
});

describe('rubika', () => {
  const ok: [number, unknown] = [200, { status: 'OK', data: { message_id: '77' } }];
  const refused = (status: string): [number, unknown] => [200, { status, dev_message: 'why' }];

  test('gets chat and text in JSON, and the token in the path', async () => {
    const { answer, received } = await sendWith('rubika', [ok], { chatId: 'b0X' });
    expect(answer).toEqual({ kind: 'accepted', providerMessageId: '77' });
    expect(received).toEqual([
      {
        url: '/v3/12%3Ato%2Fken/sendMessage',
        type: JSON_TYPE,
        body: '{"chat_id":"b0X","text":"سلام نرگس"}',
      },
    ]);
  });

  test('is asked three times before a status without a known meaning is final', async () => {
    const { answer, received } = await sendWith('rubika', [refused('INVALID_INPUT')]);
    expect(answer).toEqual({
      ...{ kind: 'rejected', reason: 'rejected_by_provider' },
      detail: 'INVALID_INPUT why',
    });
    expect(received).toHaveLength(3);
  });

  test('may accept at the second time', async () => {
    const { answer, received } = await sendWith('rubika', [refused('ERROR'), ok]);
    expect(answer.kind).toBe('accepted');
    expect(received).toHaveLength(2);
  });

  test.each(rowsOf('rubika'))('answers %i %s: that is %j', async (status, code, expected) => {
    const { answer } = await sendWith('rubika', [[status, { status: code, data: {} }]]);
    expect(answer).toMatchObject(expected);
  });

  test('limits its rate with a status', async () => {
    const { answer, received } = await sendWith('rubika', [refused('TOO_REQUESTS')]);
    expect(answer).toMatchObject({ kind: 'retry', reason: 'rate_limited' });
    expect(received).toHaveLength(1);
  });
});

test('messengers show title, text and link, and the link once', async () => {
  const content = { title: 'حراج', text: 'امروز: https://a.example/x', url: 'https://a.example/x' };
  const ok: [number, unknown] = [200, { status: 'OK', data: {} }];
  const { received } = await sendWith('rubika', [ok], { content });
  expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({
    text: 'حراج\nامروز: https://a.example/x',
  });
});
