import { describe, expect, it } from 'vitest';
import { classifyFailure, statusIn, type FailureClass } from './classify-failure.ts';

describe('a failure', () => {
  it.each<[FailureClass, status: string, text: string]>([
    // The code decides.
    ['hard', '5.1.1', ''],
    ['hard', '5.1.2', ''],
    ['hard', '5.1.10', 'null MX'],
    ['hard', '5.2.1', '550 5.2.1 The email account that you tried to reach is disabled'],
    ['hard', '5.4.4', 'Host or domain name not found'],
    ['soft', '5.2.2', 'over quota'],
    ['soft', '5.3.4', 'message too big'],
    ['soft', '5.7.26', 'unauthenticated mail'],
    ['soft', '5.1.8', 'bad sender address'],
    ['soft', '4.1.1', 'User unknown'],
    ['soft', '4.4.7', 'expired'],
    [
      'soft',
      '5.2.1',
      'The user you are trying to contact is receiving mail at a rate that prevents',
    ],
    // Unspecific codes: the words decide.
    ['hard', '5.0.0', 'smtp; 550 User unknown'],
    ['hard', '5.0.0', ''],
    ['soft', '5.0.0', 'smtp; 552 mailbox is full'],
    ['soft', '5.0.0', 'smtp; 554 Transaction failed'],
    ['soft', '5.0.0', 'smtp; 550 Blocked by Spamhaus'],
    ['hard', '5.1.0', "smtp; 550 5.1.0 Unknown address error 550-'no such user'"],
    ['hard', '5.5.0', 'smtp;550 5.5.0 Requested action not taken: mailbox unavailable'],
    ['soft', '5.5.0', 'smtp;550 5.5.0 something'],
    ['hard', '5.4.1', 'smtp;550 5.4.1 Recipient address rejected: Access denied. AS(201806281)'],
    ['soft', '5.4.1', 'no answer from host'],
    ['soft', '5.7.1', 'smtp;550 5.7.1 Unable to relay for user'],
    ['hard', '5.7.1', 'smtp; 550 5.7.1 No such user here'],
    ['soft', '5.7.1', 'smtp; 550 5.7.1 Recipient rejected: user unknown by policy'],
    // No enhanced code.
    [
      'hard',
      '',
      '550 Message was not accepted -- invalid mailbox. Local mailbox a@b is unavailable: user not found',
    ],
    ['hard', '', '550 sorry'],
    ['soft', '', '450 Mailbox busy, user unknown for now'],
    ['soft', '', '550 message rejected as spam'],
    ['soft', '', '554 no'],
    ['soft', '', 'something happened'],
    ['hard', '', 'The email account that you tried to reach does not exist'],
    ['hard', '', 'Unrouteable address'],
    ['soft', '', 'mailbox for sara is full'],
    ['soft', '', "Error: User's Disk Quota Exceeded."],
    ['soft', '', "the user's mailfolder is full"],
    ['soft', '', '552 Quota violation for a@b'],
    ['soft', '', '554 Too many hops 26 (25 max)'],
    ['soft', '', '550 Sender address rejected: Domain not found'],
    ['soft', '', '550 Recipient address rejected: blocked by policy'],
    ['hard', '', 'cannot be delivered. This account has been disabled or discontinued.'],
    ['hard', '', 'Invalid final delivery userid: a@b'],
    ['hard', '', 'a@b ... unknown host'],
    ['hard', '', 'but this email address is wrong or no longer valid'],
    ['hard', '', 'Remote SMTP server has rejected address'],
    ['hard', '5.3.0', '553 5.3.0 <a@b>... Addressee unknown, relay=[192.0.2.1]'],
    ['hard', '5.0.0', 'a@b: Domain does not exist'],
  ])('is %s: %s %s', (kind, status, text) => {
    expect(classifyFailure({ status, text })).toBe(kind);
  });
});

describe('the status code of a text', () => {
  it.each([
    ['550 5.1.1 unknown', '5.1.1'],
    ['550-5.1.1 unknown', '5.1.1'],
    ['no mailbox here by that name. (#5.1.1)', '5.1.1'],
    ['see 5.1.1.', '5.1.1'],
    ['host 5.1.1.20 said no', ''],
    ['host 10.5.1.1 said no', ''],
    ['2.0.0 then 4.2.2', '4.2.2'],
    ['2.0.0 ok', '2.0.0'],
    ['Exim 4.96.1', ''],
  ])('%s is %j', (text, status) => {
    expect(statusIn(text)).toBe(status);
  });
});
