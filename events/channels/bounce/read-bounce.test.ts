import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBounce, type Bounce } from './read-bounce.ts';

function fixture(name: string): Buffer {
  return readFileSync(join(import.meta.dirname, 'testing', `${name}.eml`));
}

/** What the mail of a system means for the address of our recipient. */
const MAILS: [name: string, address: string, kind: Bounce['kind'], reason: string][] = [
  ['postfix-unknown-user', 'sara@example.ir', 'hard', '5.1.1'],
  ['postfix-delayed', 'sara@example.ir', 'none', 'delayed'],
  ['postfix-expired', 'sara@example.ir', 'soft', '4.4.1'],
  ['exim-text', 'sara@example.ir', 'hard', 'no_status'],
  ['exim-report', 'sara@example.ir', 'soft', '5.0.0'],
  ['qmail', 'sara@example.ir', 'hard', '5.1.1'],
  ['qmail', 'reza@example.org', 'soft', '4.2.2'],
  ['qmail-expired', 'sara@example.ir', 'soft', '4.4.1'],
  ['sendmail', 'sara@example.ir', 'hard', '5.1.2'],
  ['sendmail-text', 'sara@example.ir', 'hard', 'no_status'],
  ['office365', 'sara@example.ir', 'hard', '5.1.10'],
  ['exchange-spam', 'sara@example.ir', 'soft', '5.7.1'],
  ['exchange-text', 'sara@example.ir', 'hard', 'no_status'],
  ['gmail', 'sara@gmail.example', 'hard', '5.1.1'],
  ['gmail-full', 'sara@gmail.example', 'soft', '5.2.2'],
  ['yahoo', 'sara@yahoo.example', 'hard', 'no_status'],
  ['domino', 'sara@corp.example', 'hard', '5.1.1'],
  ['domino-text', 'sara@corp.example', 'hard', 'no_status'],
  ['icloud', 'sara@me.example', 'hard', '5.1.1'],
  ['international', 'سارا@مثال.ایران', 'hard', '5.1.6'],
  ['arf-abuse', 'sara@yahoo.example', 'complaint', 'abuse'],
  ['arf-redacted', 'sara@aol.example', 'complaint', 'abuse'],
  ['hotmail-complaint', 'sara@hotmail.example', 'complaint', 'abuse'],
  ['arf-not-spam', 'sara@yahoo.example', 'none', 'not-spam'],
  ['delivered', 'sara@example.ir', 'none', 'delivered'],
  ['absence-outlook', 'sara@example.ir', 'auto_reply', 'auto_reply'],
  ['absence-persian', 'sara@example.ir', 'auto_reply', 'auto_reply'],
  ['read-receipt', 'sara@example.ir', 'auto_reply', 'auto_reply'],
  ['answer-by-person', 'sara@example.ir', 'none', 'no_report'],
];

describe('a mail to a bounce address', () => {
  it.each(MAILS)('like %s means for %s: %s', async (name, address, kind, reason) => {
    const expected = { kind, reason };
    expect(await readBounce(fixture(name), address)).toEqual(expected);
    const crlf = fixture(name).toString().replaceAll('\n', '\r\n');
    expect(await readBounce(Buffer.from(crlf), address.toUpperCase())).toEqual(expected);
    expect(await readBounce(Buffer.from(`\r\n\r\n${crlf}`), address)).toEqual(expected);
  });

  it('changes nothing for a recipient whom the report does not name', async () => {
    const other: Bounce = { kind: 'none', reason: 'other_recipient' };
    for (const name of [
      'forwarded',
      'qmail',
      'exim-text',
      'gmail',
      'arf-abuse',
      'yahoo',
      'domino-text',
    ])
      expect([name, await readBounce(fixture(name), 'mina@example.net')]).toEqual([name, other]);
  });

  it('is about our recipient when its report names nobody', async () => {
    const text = 'From: MAILER-DAEMON@x.example\nSubject: failure notice\n\n';
    const mail = `${text}Hi. This is the qmail-send program.\n\nSorry, no such user. (#5.1.1)\n`;
    expect(await readBounce(Buffer.from(mail), 'a@b.example')).toMatchObject({ kind: 'hard' });
    const block = 'Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\n';
    const report = `${block}Action: failed\nStatus: 4.2.2\n`;
    expect(await readBounce(Buffer.from(report), 'a@b.example')).toMatchObject({ kind: 'soft' });
  });

  it('counts as failed when one of several reports about our recipient says so', async () => {
    const block = (action: string, status: string) =>
      `Final-Recipient: rfc822; <A@b.example>\nAction: ${action}\nStatus: ${status}\n\n`;
    const head = 'Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\n';
    const report = head + block('delayed', '4.4.1') + block('failed (late)', '5.1.1 (bad)');
    expect(await readBounce(Buffer.from(report), 'a@b.example')).toMatchObject({ kind: 'hard' });
  });

  it.each([
    ['Action: failure\nStatus: 553 Exceeded maximum inbound message size', 'soft'],
    ['Action: error\nStatus: 5.0.0\nDiagnostic-Code: smtp; Domain does not exist', 'hard'],
    ['Status: 5.1.1', 'hard'],
    ['Action: expanded\nStatus: 2.1.5', 'none'],
  ])('with an unusual block is understood: %s', async (block, kind) => {
    const report = `Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n \nFinal-Recipient: rfc822;a@b.c\n${block}\n`;
    expect(await readBounce(Buffer.from(report), 'a@b.c')).toMatchObject({ kind });
  });

  it.each([
    [
      'From: MDaemon@x.example\nSubject: Warning: a@b.c - User unknown!\n\na@b.c - no such user here.',
      'hard',
    ],
    [
      'From: MAILER-DAEMON@x.example\nSubject: \n\n邮件无法发送到您指定的地址中。\n\n<a@b.c>:\n',
      'soft',
    ],
    [
      'From: a@x.example\nSubject: Delivery Failure\n\nCould not deliver message to\nFailed Recipient: a@b.c\nReason: 550 unknown user',
      'hard',
    ],
    [
      'From: postmaster@x.example\nSubject: Undeliverable Mail\n\nUser mailbox exceeds allowed size: a@b.c\n',
      'soft',
    ],
  ])('in words of a rare system is understood: %s', async (mail, kind) => {
    expect(await readBounce(Buffer.from(mail), 'a@b.c')).toMatchObject({ kind });
  });

  it.each(['', '\n\n', 'no field', '\0\x01\x02', 'a b: c\n\nx', ': x\n\n'])(
    'that is none is unreadable: %j',
    async (text) => {
      expect(await readBounce(Buffer.from(text), 'a@b.example')).toBeUndefined();
    },
  );

  it('with parts nested too deeply, or more headers than any report, is unreadable', async () => {
    let nested = 'Content-Type: multipart/mixed; boundary=b0\n\n';
    for (let depth = 0; depth < 100; depth++)
      nested += `--b${depth}\nContent-Type: multipart/mixed; boundary=b${depth + 1}\n\n`;
    expect(await readBounce(Buffer.from(nested), 'a@b.example')).toBeUndefined();
    const headers = `A: ${'x'.repeat(70_000)}\n\n`;
    expect(await readBounce(Buffer.from(headers), 'a@b.example')).toBeUndefined();
  });

  it.each([
    ['2,000 lines', 'x\n'.repeat(1000), 'x\n'.repeat(2000)],
    ['256 KiB', 'x'.repeat(200_000), 'x'.repeat(262_144)],
    ['8,000 signs of base64', 'base64='.repeat(7900), 'base64='.repeat(8100)],
  ])('is read up to %s: a report behind them is not seen', async (_, few, many) => {
    const report = '\nFinal-Recipient: rfc822; a@b.c\nAction: failed\nStatus: 5.1.1\n';
    const readWith = (filler: string) =>
      readBounce(Buffer.from(`A: b\n\n${filler}${report}`), 'a@b.c');
    expect(await readWith(few)).toEqual({ kind: 'hard', reason: '5.1.1' });
    expect(await readWith(many)).toEqual({ kind: 'none', reason: 'no_report' });
  });

  it('never fails, whatever it holds', async () => {
    const pieces = fc.constantFrom(
      ...[
        'Content-Type: multipart/report; boundary=b\n',
        'Content-Type: message/delivery-status\n',
      ],
      ...['--b\n', '--b--\n', '\n', ' ', 'Final-Recipient: rfc822; a@b.c\n', 'Action: failed\n'],
      ...['Status: 5.1.1\n', 'Content-Transfer-Encoding: base64\n', '=\n', 'From: MAILER-DAEMON\n'],
      ...['Subject: =?utf-8?B?', '<a@b.c>:\n', 'Hi. This is the qmail-send program\n', '\0', 'é'],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(pieces, fc.string())), async (parts) => {
        const bounce = await readBounce(Buffer.from(parts.join('')), 'a@b.c');
        if (bounce) expect(bounce.reason.length).toBeLessThan(50);
      }),
    );
  });
});
