import type { JsonObject } from '../../../events/json.ts';
import { testTimeout } from '../test-timeout.ts';
import { admin, eventually, readyStack } from '../stack.ts';
import type { MessageAccount } from './message-account.ts';

/** What GET /v1/campaigns/{id} says of a campaign (docs/messages.md, Send a campaign). */
export interface ShownCampaign {
  status: string;
  stats: {
    planned: number;
    sent: number;
    failed: number;
    withheld: number;
    skipped: number;
    in_flight: number;
    skipped_by_reason: Record<string, number>;
    failed_by_reason: Record<string, number>;
  };
}

type Verb = 'pause' | 'resume' | 'cancel' | 'confirm';

/** A campaign of an account under test, over the management host and operators' commands. */
export class TestCampaign {
  readonly id: number;
  readonly #account: MessageAccount;

  private constructor(account: MessageAccount, id: number) {
    this.#account = account;
    this.id = id;
  }

  static async create(account: MessageAccount, definition: JsonObject): Promise<TestCampaign> {
    const body = { name: 'test', ...definition };
    const { id } = await ask<{ id: number }>(account, { path: '/v1/campaigns', body });
    return new TestCampaign(account, id);
  }

  /** Answers the id of its run. */
  async send(): Promise<number> {
    const path = `/v1/campaigns/${this.id}/send`;
    return (await ask<{ run_id: number }>(this.#account, { path, body: {} })).run_id;
  }

  async recur(body: JsonObject): Promise<void> {
    const path = `/v1/campaigns/${this.id}/recurrence`;
    await ask(this.#account, { path, body, method: 'PUT' });
  }

  show(): Promise<ShownCampaign> {
    return ask<ShownCampaign>(this.#account, { path: `/v1/campaigns/${this.id}` });
  }

  /** Waits until the campaign is as wanted. */
  async until(
    what: string,
    isWanted: (campaign: ShownCampaign) => boolean,
    ms = 120_000,
  ): Promise<ShownCampaign> {
    let last: ShownCampaign | undefined;
    return eventually({ ms, every: 1000, waitingFor: what }, async () => {
      last = await this.show();
      return isWanted(last) ? last : undefined;
    }).catch((error: unknown) => {
      throw new Error(`the campaign is ${JSON.stringify(last)}`, { cause: error });
    });
  }

  /** Repeats an operator's command until it succeeds. */
  operate(verb: Verb): Promise<{ status: string }> {
    const { accountId } = this.#account.account;
    const one = ['--account', String(accountId), '--id', String(this.id)];
    return eventually({ ms: 60_000, waitingFor: `the campaign to ${verb}` }, () =>
      admin<{ status: string }>('campaign', verb, ...one),
    );
  }
}

/** One request to the management host; rejects unless it is answered 2xx. */
async function ask<T>(
  { account }: MessageAccount,
  { path, body, method }: { path: string; body?: JsonObject; method?: string },
): Promise<T> {
  const response = await fetch(`${readyStack().base_url}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${account.managementKey}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(testTimeout(40_000)),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status} ${text}`);
  return JSON.parse(text) as T;
}
