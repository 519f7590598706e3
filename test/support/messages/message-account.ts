import type { Channel } from '../../../events/channels/channel-change.ts';
import type { JsonObject } from '../../../events/json.ts';
import { SenderStore } from '../../../messaging/senders/sender-store.ts';
import { senderPurpose } from '../../../messaging/senders/sender.ts';
import type { Category, TemplateContent } from '../../../messaging/templates/template.ts';
import { TemplateStore } from '../../../messaging/templates/template-store.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { parseSealingKeys } from '../../../platform/sealing.ts';
import { createAccount, type TestAccount } from '../stack.ts';
import { sealingKey } from '../webhooks/connection.ts';

/** An account that sends messages. */
export class MessageAccount {
  readonly account: TestAccount;
  readonly #database: Database;

  private constructor(account: TestAccount, database: Database) {
    this.account = account;
    this.#database = database;
  }

  static async create(database: Database, name: string): Promise<MessageAccount> {
    return new MessageAccount(await createAccount(name), database);
  }

  get #author() {
    return { accountId: this.account.accountId, actor: 'operator' };
  }

  async template(
    channel: Channel,
    content: TemplateContent,
    category: Category = 'transactional',
  ): Promise<number> {
    const draft = { name: 'test', channel, category, content };
    const saved = await new TemplateStore(this.#database).create(this.#author, draft);
    if (typeof saved === 'string') throw new Error(`a template could not be stored: ${saved}`);
    return saved.templateId;
  }

  /** @param secret sealed under the key of the stack; undefined: the provider needs none */
  async sender(
    channel: Channel,
    provider: string,
    { config = {}, secret }: { config?: JsonObject; secret?: string } = {},
  ): Promise<void> {
    const purpose = senderPurpose({ accountId: this.account.accountId, channel });
    await new SenderStore(this.#database).save(this.#author, {
      ...{ channel, provider, config },
      secret:
        secret === undefined ? undefined : parseSealingKeys(sealingKey())?.seal(secret, purpose),
    });
  }

  /** A chat of each user, linked long ago; its id is a hash of the user. */
  async chats(channel: Channel, users: readonly string[]): Promise<void> {
    await this.#database.query(
      `INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, received_at, gateway, sequence)
       SELECT $1, $2, 'chat of ' || u, 0, u, '', 1, 'test', n FROM unnest($3::text[]) WITH ORDINALITY AS u (u, n)
       ON CONFLICT DO NOTHING`,
      [this.account.accountId, channel, users],
    );
  }
}
