import type { ClickHouseClient } from '@clickhouse/client';
import type { Channel } from '../../events/channels/channel-change.ts';
import type { JsonObject } from '../../events/json.ts';
import type { TemplateContent } from '../../messaging/templates/template.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { TestCampaign } from '../../test/support/messages/campaign.ts';
import { MessageAccount } from '../../test/support/messages/message-account.ts';

interface Servers {
  database: Database;
  client: ClickHouseClient;
}

const EVERYBODY = { trait: 'plan', op: 'eq', value: 'gold' };

/** An account of a bench with a sender, a template and as many people as wanted. */
export class SendingAccount {
  readonly owner: MessageAccount;
  readonly #servers: Servers;
  readonly #people: number;

  private constructor(owner: MessageAccount, servers: Servers, people: number) {
    this.owner = owner;
    this.#servers = servers;
    this.#people = people;
  }

  static async create(servers: Servers, name: string, people: number): Promise<SendingAccount> {
    const owner = await MessageAccount.create(servers.database, name);
    const made = new SendingAccount(owner, servers, people);
    await made.#fill();
    return made;
  }

  /** A campaign to everybody. */
  async campaign(
    channel: Channel,
    content: TemplateContent,
    sender: { provider: string; config: JsonObject; secret?: string },
  ): Promise<TestCampaign> {
    await this.owner.sender(channel, sender.provider, sender);
    const template_id = await this.owner.template(channel, content, 'marketing');
    return TestCampaign.create(this.owner, { channel, template_id, audience: EVERYBODY });
  }

  /** A device of each person, registered long ago. */
  async devices(): Promise<void> {
    await this.#servers.database.query(
      `INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, details, received_at, gateway, sequence)
       SELECT $1, 'push', 'device-' || n, 0, 'user-' || n, '',
         jsonb_build_object('platform', 'ios', 'push_provider', 'apns', 'push_token', encode(sha256(n::text::bytea), 'hex')), 1, 'bench', n
       FROM generate_series(0, $2::bigint - 1) AS n`,
      [this.#accountId, this.#people],
    );
  }

  /** Recipients of a run with an outcome. */
  async finished(runId: number): Promise<number> {
    const { rows } = await this.#servers.database.query<{ messages: number }>(
      'SELECT coalesce(sum(messages), 0)::float8 AS messages FROM campaign_run_counts WHERE run_id = $1',
      [runId],
    );
    return rows[0]?.messages ?? 0;
  }

  /** Recipients of the run's chunks that are in the dispatcher's queue. */
  async queued(runId: number): Promise<number> {
    const { rows } = await this.#servers.database.query<{ recipients: number }>(
      'SELECT coalesce(sum(recipients), 0)::float8 AS recipients FROM message_chunks WHERE run_id = $1',
      [runId],
    );
    return rows[0]?.recipients ?? 0;
  }

  async isPlanned(runId: number): Promise<boolean> {
    const { rows } = await this.#servers.database.query<{ is_planned: boolean }>(
      'SELECT is_planned FROM campaign_runs WHERE id = $1',
      [runId],
    );
    return rows[0]?.is_planned === true;
  }

  /** Removes what is large. */
  async remove(): Promise<void> {
    const { database, client } = this.#servers;
    await database.query('DELETE FROM channel_addresses WHERE account_id = $1', [this.#accountId]);
    await database.query('DELETE FROM message_recipients WHERE account_id = $1', [this.#accountId]);
    await client.command({ query: `DELETE FROM profiles WHERE account_id = ${this.#accountId}` });
  }

  get #accountId(): number {
    return this.owner.account.accountId;
  }

  async #fill(): Promise<void> {
    const name = `concat('user-', toString(number))`;
    await this.#servers.client.command({
      query: `INSERT INTO profiles (account_id, name, user_id, event_count, first_seen, last_seen, email, first_name, last_name, city, traits)
        SELECT ${this.#accountId}, ${name}, ${name}, 1, now64(3), now64(3), concat(${name}, '@mail.example'), 'نرگس', 'کریمی', 'تهران',
          map('plan', 'gold', 'points', toString(number % 1000), 'last_product', 'هدفون بی‌سیم')
        FROM numbers(${this.#people})`,
    });
  }
}
