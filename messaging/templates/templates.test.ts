import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { CachedTemplates } from './cached-templates.ts';
import { MissingVariables, missingVariables } from './missing-variables.ts';
import { readTemplateDraft, type CheckTemplate } from './read-draft.ts';
import { TemplateStore } from './template-store.ts';
import type { TemplateDraft, TemplateVersion } from './template.ts';

const noCheck: CheckTemplate = () => [];
const EMAIL = { name: 'یلدا', channel: 'email', category: 'marketing' };

describe('a template as it is entered', () => {
  it('is read with the parts that were given', () => {
    const sent = { ...EMAIL, subject: 'سلام {{ user.first_name }}', text: 'متن', html: null };
    expect(readTemplateDraft(sent, noCheck)).toEqual({
      ...{ name: 'یلدا', channel: 'email', category: 'marketing' },
      content: { subject: 'سلام {{ user.first_name }}', text: 'متن' },
    });
  });

  test.each<[object, string]>([
    [{ channel: 'fax' }, 'channel is not one of email, sms'],
    [{ category: 'ads' }, 'category is not one of transactional, service, marketing'],
    [{ name: ' ' }, 'name is required'],
    [{ name: 'n'.repeat(201) }, 'name is longer than 200 characters'],
    [{ subject: ' ' }, 'a template of the channel email needs subject'],
    [{ text: undefined }, 'a template of the channel email needs text or html'],
    [{ channel: 'sms', text: '' }, 'a template of the channel sms needs text'],
    [{ text: 5 }, 'text is not a text'],
    [{ htlm: '<p>' }, 'a template has no htlm: it has name, channel'],
    [{ data: { a: 1 } }, 'data.a is not a text'],
    [{ data: [] }, 'data is not an object of texts'],
    [{ html: 'x'.repeat(524_288) }, 'the template is longer than 524288 bytes'],
  ])('with %o is refused: %s', (change, message) => {
    const sent = { ...EMAIL, subject: 's', text: 't', ...change };
    expect(() => readTemplateDraft(sent, noCheck)).toThrow(message);
  });

  it('is refused with the place of each mistake in its Liquid', () => {
    const check: CheckTemplate = ({ text }, channel) => [
      { field: 'text', line: 2, column: 5, message: `${text} ${channel}` },
      { field: 'subject', message: 'b' },
    ];
    const sent = { ...EMAIL, subject: 's', text: 't' };
    expect(() => readTemplateDraft(sent, check)).toThrow(
      'text, line 2, column 5: t email\nsubject: b',
    );
  });
});

describe('stored templates', () => {
  let postgres: MigratedDatabase;
  let store: TemplateStore;
  const author = { accountId: 1, actor: 'operator' };
  const draft: TemplateDraft = {
    ...{ name: 'a\0b', channel: 'sms', category: 'service', content: { text: 'a\0 \ud83d' } },
  };
  beforeAll(async () => {
    postgres = await migratedDatabase(['0001', '0012', '0060']);
    await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
    store = new TemplateStore(postgres.database);
  }, 60_000);
  afterAll(() => postgres.close());

  const create = async (accountId = 1) => {
    const saved = await store.create({ ...author, accountId }, draft);
    if (typeof saved === 'string') throw new Error(saved);
    return saved;
  };

  it('have versions that never change, with an audit line each', async () => {
    const { templateId, version } = await create();
    expect(version).toBe(1);
    const change = { templateId, name: 'b', content: { text: 'two' } };
    const changes = await Promise.all([store.update(author, change), store.update(author, change)]);
    expect(changes).toEqual([
      { templateId, version: 2 },
      { templateId, version: 3 },
    ]);
    const facts = { templateId, accountId: 1, channel: 'sms', category: 'service' };
    expect(await store.version(templateId, 1)).toEqual({
      ...{ ...facts, version: 1, content: draft.content },
    });
    expect(await store.version(templateId, 3)).toMatchObject({ content: { text: 'two' } });
    expect(await store.version(templateId, 4)).toBeUndefined();
    expect(await store.newest(templateId)).toEqual({ ...facts, name: 'b', version: 3 });
    const { rows } = await postgres.database.query(
      'SELECT action, details FROM audit_lines ORDER BY id',
    );
    expect(rows).toEqual([
      {
        action: 'message_template.created',
        details: {
          ...{ channel: 'sms', category: 'service' },
          template_id: templateId,
          version: 1,
        },
      },
      { action: 'message_template.changed', details: { template_id: templateId, version: 2 } },
      { action: 'message_template.changed', details: { template_id: templateId, version: 3 } },
    ]);
  });

  it('are changed by their account only', async () => {
    const { templateId } = await create();
    const change = { templateId, name: 'b', content: { text: 'two' } };
    expect(await store.update({ ...author, accountId: 2 }, change)).toBe('not_found');
    expect((await store.newest(templateId))?.version).toBe(1);
  });

  it('are bounded per account, in number and in bytes', async () => {
    await postgres.database.query(
      "INSERT INTO message_templates (account_id, name, channel, category) SELECT 2, 'n', 'sms', 'service' FROM generate_series(1, 999)",
    );
    const { templateId } = await create(2);
    expect(await store.create({ ...author, accountId: 2 }, draft)).toBe('full');
    await postgres.database.query(
      `INSERT INTO message_template_versions (template_id, version, content) SELECT $1, n, to_json(repeat('x', 524288)) FROM generate_series(2, 512) AS g (n)`,
      [templateId],
    );
    const large = { templateId, name: 'b', content: { text: 'x'.repeat(600_000) } };
    expect(await store.update({ ...author, accountId: 2 }, large)).toBe('full');
    await create(1);
  });
});

describe('the cache of versions', () => {
  const version = (templateId: number, text: string): TemplateVersion => ({
    ...{ templateId, version: 1, accountId: 1, channel: 'sms', category: 'service' },
    content: { text },
  });

  it('reads each version once, also for callers that come together, and forgets the oldest', async () => {
    const reads: number[] = [];
    const cache = new CachedTemplates(
      {
        version: (templateId) => {
          reads.push(templateId);
          return Promise.resolve(
            templateId === 9 ? undefined : version(templateId, 'x'.repeat(40)),
          );
        },
      },
      120,
    );
    await Promise.all([cache.version(1, 1), cache.version(1, 1)]);
    await cache.version(2, 1);
    await cache.version(1, 1);
    await cache.version(3, 1);
    await cache.version(1, 1);
    expect(reads).toEqual([1, 2, 3]);
    await cache.version(2, 1);
    expect(reads).toEqual([1, 2, 3, 2]);
    expect(await cache.version(9, 1)).toBeUndefined();
  });

  it('reads again after a failure', async () => {
    let isUp = false;
    const cache = new CachedTemplates({
      version: () => (isUp ? Promise.resolve(version(1, 'a')) : Promise.reject(new Error('down'))),
    });
    await expect(cache.version(1, 1)).rejects.toThrow('down');
    isUp = true;
    expect(await cache.version(1, 1)).toEqual(version(1, 'a'));
  });
});

describe('missing variables', () => {
  let postgres: MigratedDatabase;
  beforeAll(async () => {
    postgres = await migratedDatabase(['0001', '0012', '0060']);
  }, 60_000);
  afterAll(() => postgres.close());
  const template = { templateId: 1, version: 2 };

  it('are counted by message, and kept while PostgreSQL is down', async () => {
    let isUp = false;
    const counter = new MissingVariables({
      query: ((text: string, values: unknown[]) =>
        isUp ? postgres.database.query(text, values) : Promise.reject(new Error('down'))) as never,
    });
    counter.count(template, ['user.name', 'user.name', 'vars.a\0']);
    counter.count({ templateId: 2, version: 1 }, ['x']);
    await expect(counter.flush()).rejects.toThrow('down');
    counter.count(template, ['user.name']);
    counter.count(template, []);
    isUp = true;
    await counter.flush();
    await counter.flush();
    expect(await missingVariables(postgres.database, template)).toEqual([
      { variable: 'user.name', messages: 2 },
      { variable: 'vars.a\0', messages: 1 },
    ]);
    expect(await missingVariables(postgres.database, { templateId: 2, version: 1 })).toEqual([
      { variable: 'x', messages: 1 },
    ]);
  });

  it('are bounded for each version, whatever templates invent', async () => {
    const other = { templateId: 3, version: 1 };
    const names = (from: number) => Array.from({ length: 80 }, (_, at) => `v${from + at}`);
    for (const from of [0, 80, 1000]) {
      const counter = new MissingVariables(postgres.database);
      counter.count(other, names(from));
      counter.count(other, names(0));
      counter.count(other, ['x'.repeat(10_000)]);
      await counter.flush();
    }
    const found = await missingVariables(postgres.database, other);
    expect(found).toHaveLength(100);
    expect(found.find(({ variable }) => variable === 'v0')?.messages).toBe(4);
    expect(Math.max(...found.map(({ variable }) => variable.length))).toBeLessThanOrEqual(256);
  });
});
