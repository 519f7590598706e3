import type { Database } from '../../../platform/postgres/pool.ts';
import { readyStack } from '../stack.ts';
import { MessageAccount } from './message-account.ts';

/** An e-mail of a campaign, as the sandbox of the stack shows it. */
export interface SandboxMail {
  messageId: string;
  to: string;
  /** The address of the picture that says that it was opened. */
  pixel: string;
}

const LINK = 'https://shop.example/yalda';
const CONTENT = {
  subject: 'سلام {{ user.first_name }}',
  html: `<p>سلام {{ user.first_name }}، <a href="${LINK}">یلدا</a></p>`,
};

/** An account whose e-mails the sandbox takes, and a template of marketing e-mails. */
export async function mailingAccount(
  database: Pick<Database, 'query'>,
  name: string,
): Promise<{ owner: MessageAccount; template: number }> {
  const owner = await MessageAccount.create(database as Database, name);
  const template = await owner.template('email', CONTENT, 'marketing');
  return { owner, template };
}

/** Sends e-mails to the sandbox from now on, as the demo account does. */
export async function mailToSandbox(
  database: Pick<Database, 'query'>,
  owner: MessageAccount,
  limits: { max_per_second?: number } = {},
): Promise<void> {
  const { rows } = await database.query<{ config: Record<string, string | number> }>(
    `SELECT config FROM message_senders WHERE account_id = $1 AND channel = 'email'`,
    [readyStack().demo.account_id],
  );
  await owner.sender('email', 'smtp', { config: { ...rows[0]?.config, ...limits } });
}

/** What the sandbox took of a campaign; it keeps the last 1,000 of all messages. */
export async function mailsOf(campaignId: number): Promise<SandboxMail[]> {
  const answer = await fetch(`${readyStack().sandbox_url}/messages?channel=email&limit=1000`);
  const { messages } = (await answer.json()) as { messages: { html: string; to: string }[] };
  return messages.flatMap(({ html, to }): SandboxMail[] => {
    const [, messageId = ''] = /[?&;]sg_mid=([\w.-]+)/.exec(html) ?? [];
    const [, pixel = ''] = /src="(http[^"]*\/e\/o\/[^"]+)"/.exec(html) ?? [];
    return messageId.startsWith(`c${campaignId}.`) ? [{ messageId, to, pixel }] : [];
  });
}

/** To whom a mail of `identifyPeople` went. */
export function userOf({ to }: Pick<SandboxMail, 'to'>): string {
  return to.split('@')[0] ?? '';
}
