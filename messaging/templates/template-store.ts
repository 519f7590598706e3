import type { Channel } from '../../events/channels/channel-change.ts';
import { auditedChange } from '../../platform/audited-change.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Author } from '../author.ts';
import {
  MAX_ACCOUNT_BYTES,
  MAX_TEMPLATES,
  type Category,
  type TemplateContent,
  type TemplateDraft,
  type TemplateVersion,
} from './template.ts';

/** The newest version of a template, without its content. */
export interface TemplateHead {
  templateId: number;
  name: string;
  accountId: number;
  version: number;
  channel: Channel;
  category: Category;
}

/** `full`: the account has as many templates, or bytes of them, as it may (template.ts). */
export type SavedTemplate = { templateId: number; version: number } | 'full' | 'not_found';

interface Row {
  name: string;
  account_id: string;
  channel: Channel;
  category: Category;
  version: number;
  content: TemplateContent;
}

const BYTES = `(SELECT coalesce(sum(content_bytes), 0) FROM message_template_versions WHERE template_id IN (SELECT id FROM message_templates WHERE account_id = $1))`;
const SAVED = `account_id, id, version, jsonb_build_object('template_id', id, 'version', version) AS audit`;

/** Templates of accounts and their versions. Every method rejects when PostgreSQL does. */
export class TemplateStore {
  readonly #database: Pick<Database, 'query'>;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /** Concurrent requests see the same sums: an account may exceed its limits by what they store. */
  async create({ accountId, actor }: Author, draft: TemplateDraft): Promise<SavedTemplate> {
    const { name, channel, category, content } = draft;
    const [row] = await auditedChange<{ id: string; version: number }>(this.#database, {
      steps: [
        `made AS (INSERT INTO message_templates (account_id, name, channel, category)
          SELECT $1::bigint, $2::text, $3::text, $4::text
          WHERE (SELECT count(*) FROM message_templates WHERE account_id = $1) < ${MAX_TEMPLATES} AND ${BYTES} + octet_length($5::text) <= ${MAX_ACCOUNT_BYTES}
          RETURNING *)`,
        'first AS (INSERT INTO message_template_versions (template_id, version, content) SELECT id, version, $5::json FROM made)',
      ],
      statement: `SELECT ${SAVED} FROM made`,
      values: [accountId, escapeText(name), channel, category, JSON.stringify(content)],
      ...{ actor, action: 'message_template.created', details: { channel, category } },
    });
    return row ? { templateId: Number(row.id), version: row.version } : 'full';
  }

  /** A new version; the channel and the category of a template never change. */
  async update(
    { accountId, actor }: Author,
    { templateId, name, content }: { templateId: number; name: string; content: TemplateContent },
  ): Promise<SavedTemplate> {
    const values = [accountId, templateId, escapeText(name), JSON.stringify(content)];
    const [row] = await auditedChange<{ id: string; version: number }>(this.#database, {
      steps: [
        // Of concurrent updates each waits for the row, and gets a number of its own.
        `made AS (UPDATE message_templates SET name = $3, version = version + 1, updated_at = clock_timestamp()
          WHERE account_id = $1 AND id = $2 AND ${BYTES} + octet_length($4::text) <= ${MAX_ACCOUNT_BYTES}
          RETURNING *)`,
        'next AS (INSERT INTO message_template_versions (template_id, version, content) SELECT id, version, $4::json FROM made)',
      ],
      statement: `SELECT ${SAVED} FROM made`,
      ...{ values, actor, action: 'message_template.changed', details: {} },
    });
    if (row) return { templateId: Number(row.id), version: row.version };
    return (await this.newest(templateId))?.accountId === accountId ? 'full' : 'not_found';
  }

  async newest(templateId: number): Promise<TemplateHead | undefined> {
    const { rows } = await this.#database.query<Omit<Row, 'content'>>(
      'SELECT account_id, name, channel, category, version FROM message_templates WHERE id = $1',
      [templateId],
    );
    const [row] = rows;
    if (!row) return undefined;
    const { version, channel, category } = row;
    const name = unescapeText(row.name);
    return { templateId, name, accountId: Number(row.account_id), version, channel, category };
  }

  async version(templateId: number, version: number): Promise<TemplateVersion | undefined> {
    const { rows } = await this.#database.query<Omit<Row, 'name'>>(
      `SELECT t.account_id, t.channel, t.category, v.version, v.content
       FROM message_template_versions v JOIN message_templates t ON t.id = v.template_id WHERE v.template_id = $1 AND v.version = $2`,
      [templateId, version],
    );
    const [row] = rows;
    if (!row) return undefined;
    const { channel, category, content } = row;
    return { templateId, version, accountId: Number(row.account_id), channel, category, content };
  }
}
