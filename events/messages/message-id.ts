import { hash } from 'node:crypto';

/**
 * Hash of a canonical person in ids of messages, and the order in which a run sends: 32 hexadecimal
 * digits of SHA-256. In ClickHouse: `substring(lower(hex(SHA256(person_id))), 1, 32)`.
 */
export function personKey(personId: string): string {
  return hash('sha256', personId).slice(0, 32);
}

/** One message of a campaign's run to one person (docs/messages.md, Send a campaign). */
export function campaignMessageId(of: {
  campaignId: number;
  runId: number;
  /** personKey of the canonical person when the audience was frozen. */
  key: string;
}): string {
  return `c${of.campaignId}.${of.runId}.${of.key}`;
}

/** A transactional message (management 2.8). */
export function transactionalMessageId(of: { accountId: number; idempotencyKey: string }): string {
  return `t${of.accountId}.${of.idempotencyKey}`;
}

/**
 * The idempotency key of a test message, which a member of an account sends to try a template
 * (docs/messages.md, Send a test message). It is in the message's id, and so marks the message
 * wherever that is: no key of POST /v1/messages has a tilde (management 4.2).
 * @param key as POST /v1/messages accepts them
 */
export function testMessageKey(key: string): string {
  return `test~${key}`;
}

/** @param text an idempotency key, or the id of a message */
export function isTestMessage(text: string): boolean {
  return /^(?:t\d{1,15}\.)?test~/.test(text);
}

/** A message id of this installation's making; undefined for any other text. */
export function parseMessageId(
  text: string,
):
  | { kind: 'campaign'; campaignId: number; runId: number; key: string }
  | { kind: 'transactional'; accountId: number; idempotencyKey: string }
  | undefined {
  const campaign = /^c(\d{1,15})\.(\d{1,15})\.([0-9a-f]{32})$/.exec(text);
  if (campaign) {
    const [, campaignId, runId, key = ''] = campaign;
    return { kind: 'campaign', campaignId: Number(campaignId), runId: Number(runId), key };
  }
  const transactional = /^t(\d{1,15})\.((?:test~)?[A-Za-z0-9._:-]{8,200})$/.exec(text);
  if (!transactional) return undefined;
  const [, accountId, idempotencyKey = ''] = transactional;
  return { kind: 'transactional', accountId: Number(accountId), idempotencyKey };
}
