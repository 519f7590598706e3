import type { WebhookSource } from '../../../events/webhooks/sources.ts';
import {
  bareAccount,
  createConnection,
  type TestConnection,
} from '../../support/webhooks/connection.ts';
import { deliveryText, order } from '../../support/webhooks/hosted-payloads.ts';
import { ask, type Answered } from './host.ts';

export const SECRET = 'whsec-1f0c9a';
export const NOW = new Date();
export const ORDER = deliveryText(order(NOW));
/** The answer to a delivery that adds no event. */
export const NOTHING = { status: 200, answer: { status: 'ok' } };

/** A connection of a new account, with counters of its own. */
export async function fresh(
  source: WebhookSource,
  { secret }: { secret: string | undefined } = { secret: SECRET },
): Promise<TestConnection> {
  return createConnection({ accountId: await bareAccount(), source, secret });
}

export interface Delivered {
  status: number;
  answer: unknown;
}

export async function deliver(
  path: { source: string; token: string },
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Delivered & { sent: Answered }> {
  const sent = await ask({ path: `/v1/hooks/${path.source}/${path.token}`, body, headers });
  return { status: sent.status, answer: JSON.parse(sent.text), sent };
}
