import PostalMime from 'postal-mime';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mailIdOf, mailOf, type Mail } from './mail.ts';

const MAIL: Mail = {
  messageId: 'c7.12.0123456789abcdef0123456789abcdef',
  from: { name: 'فروشگاه روند', address: 'news@shop.example' },
  replyTo: { name: 'Help "desk"', address: 'help@shop.example' },
  to: 'nima@mail.example',
  subject: 'حراج بزرگ پاییزی برای همهٔ مشتری‌های خوب ما، فقط تا پایان امروز!',
  text: 'سلام نرگس،\nتخفیف ۲۰٪ برای شما.\n',
  html: '<p dir="rtl">سلام نرگس</p>',
  unsubscribeUrl: 'https://news.shop.example/e/u/abc',
  at: Date.UTC(2026, 10, 22, 9, 30, 5),
};

/** Read by a parser that is not ours. */
const read = async (change: Partial<Mail> = {}) =>
  await new PostalMime().parse(mailOf({ ...MAIL, ...change }));

const header = (mail: Awaited<ReturnType<typeof read>>, key: string) =>
  mail.headers.filter((one) => one.key === key).map(({ value }) => value);

describe('a mail', () => {
  test('has the headers and both parts that a reader shows', async () => {
    const mail = await read();
    expect(mail).toMatchObject({
      from: MAIL.from,
      to: [{ address: 'nima@mail.example' }],
      replyTo: [MAIL.replyTo],
      subject: MAIL.subject,
      date: '2026-11-22T09:30:05.000Z',
      messageId: '<c7.12.0123456789abcdef0123456789abcdef@shop.example>',
    });
    expect(mail.text?.replaceAll('\r\n', '\n').trim()).toBe(MAIL.text.trim());
    expect(mail.html?.trim()).toBe(MAIL.html);
  });

  test('can be unsubscribed from with one click (RFC 8058)', async () => {
    const mail = await read();
    expect(header(mail, 'list-unsubscribe')).toEqual(['<https://news.shop.example/e/u/abc>']);
    expect(header(mail, 'list-unsubscribe-post')).toEqual(['List-Unsubscribe=One-Click']);
    const without = await read({ unsubscribeUrl: undefined });
    expect(header(without, 'list-unsubscribe-post')).toEqual([]);
  });

  test('asks automatic repliers to be silent', async () => {
    expect(header(await read(), 'auto-submitted')).toEqual(['auto-generated']);
  });

  test.each([
    ['text', { html: '' }, 'text/plain; charset=utf-8'],
    ['HTML', { text: '' }, 'text/html; charset=utf-8'],
  ])('has one part when there is only %s', async (_, change, type) => {
    expect(header(await read(change), 'content-type')).toEqual([type]);
  });

  test('has lines that every mail system passes on, whatever the content is', () => {
    const texts = fc.string({ unit: 'grapheme', maxLength: 3000 });
    fc.assert(
      fc.property(texts, texts, texts, (subject, text, html) => {
        const bytes = mailOf({ ...MAIL, subject, text, html }).toString('latin1');
        expect(bytes).not.toMatch(/[^\t\r\n\x20-\x7e]/);
        expect(bytes.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
        for (const line of bytes.split('\r\n')) expect(line.length).toBeLessThan(998);
      }),
      { numRuns: 200 },
    );
  });

  test('reads as it was written, whatever it is', async () => {
    const plain = fc
      .string({ unit: 'grapheme', maxLength: 300 })
      .map((text) => text.replaceAll(/\s+|\p{C}/gu, ' ').trim());
    await fc.assert(
      fc.asyncProperty(plain, plain, async (subject, text) => {
        const mail = await read({ subject, text });
        expect((mail.subject ?? '').trim()).toBe(subject);
        expect((mail.text ?? '').trim()).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    'سلام\r\nBcc: victim@example.com',
    'x\nContent-Type: text/html\n\n<script>',
    'x\u0000\u000b\u2028y',
  ])('gets no header from a subject: %j', async (subject) => {
    const mail = await read({ subject, from: { ...MAIL.from, name: subject } });
    expect(mail.bcc ?? []).toEqual([]);
    expect(header(mail, 'subject')).toHaveLength(1);
    expect(header(mail, 'content-type')[0]).toContain('multipart/alternative');
    expect(mail.from?.address).toBe('news@shop.example');
  });

  test('is not cut by a text with its own boundary', async () => {
    const boundary = `--=_${mailIdOf(MAIL.messageId)}--`;
    expect((await read({ text: `a\n${boundary}\nb` })).text).toMatch(/\nb\s*$/);
  });

  test('is the same each time', () => {
    expect(mailOf(MAIL).equals(mailOf(MAIL))).toBe(true);
  });
});

describe('the id of a mail', () => {
  test.each(['c7.12.0123', 't5.order_1-a'])('is the message id where headers allow it: %s', (id) =>
    expect(mailIdOf(id)).toBe(id),
  );

  test.each(['t5.order:1', 't5.a..b', 't5.a.', `t5.${'x'.repeat(200)}`])(
    'is a hash of %s',
    (id) => {
      expect(mailIdOf(id)).toMatch(/^[0-9a-f]{32}$/);
      expect(mailIdOf(id)).not.toBe(mailIdOf(`${id}2`));
    },
  );
});
