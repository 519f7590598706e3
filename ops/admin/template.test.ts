import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MissingVariables } from '../../messaging/templates/missing-variables.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { createTemplate, templateShow, updateTemplate } from './template.ts';

const EMAIL = {
  ...{ name: 'یلدا', channel: 'email', category: 'marketing' },
  ...{ subject: 'سلام {{ user.first_name }}', text: 'متن' },
};
let postgres: MigratedDatabase;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0060']);
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
}, 60_000);
afterAll(() => postgres.close());

const create = (change: object = {}) =>
  createTemplate(postgres.database, { accountId: 1, sent: { ...EMAIL, ...change } });
const update = (id: unknown, sent: unknown, account?: number) =>
  updateTemplate(postgres.database, { id: Number(id), account, sent });
const show = (values: Record<string, string>) =>
  templateShow.run(
    { values, words: [] },
    { database: postgres.database as never, kafka: {} as never, env: {} },
  );

describe('admin template', () => {
  it('creates a template, and each update is a version', async () => {
    const created = await create();
    expect(created).toEqual({ template_id: expect.any(Number) as number, version: 1 });
    const id = created['template_id'];
    expect(await update(id, { subject: 'دو', html: '<p>دو</p>' })).toEqual({
      ...{ template_id: id, version: 2 },
    });
    const counter = new MissingVariables(postgres.database);
    counter.count({ templateId: Number(id), version: 1 }, ['user.first_name']);
    await counter.flush();
    expect(await show({ id: String(id), version: '1' })).toEqual({
      ...{ template_id: id, account_id: 1, version: 1, newest_version: 2 },
      ...EMAIL,
      missing_variables: [{ variable: 'user.first_name', messages: 1 }],
    });
    expect(await show({ id: String(id) })).toMatchObject({
      ...{ version: 2, name: 'یلدا', html: '<p>دو</p>', missing_variables: [] },
    });
    await expect(show({ id: String(id), version: '3' })).rejects.toThrow('has no version 3');
  });

  it('shows the parts of an SMS without its values', async () => {
    const sms = async (text: string) => {
      const sent = { name: 'پیامک', channel: 'sms', category: 'marketing', text };
      const { template_id: id } = await createTemplate(postgres.database, { accountId: 1, sent });
      return (await show({ id: String(id) }))['sms'];
    };
    expect(await sms('Code: {{ vars.code }}')).toEqual({ encoding: 'gsm7', units: 6, parts: 1 });
    expect(await sms(`${'آ'.repeat(70)}{{ user.first_name | default: "ب" }}`)).toEqual({
      ...{ encoding: 'ucs2', units: 71, parts: 2 },
    });
    // Nothing is left of it.
    expect(await sms('{{ vars.text }}')).toEqual({ encoding: 'gsm7', units: 0, parts: 0 });
  });

  it('refuses Liquid that cannot be read, with line and column', async () => {
    await expect(create({ text: 'سلام\n{{ user.name | uppercase }}' })).rejects.toThrow(
      /text, line 2, column \d+: there is no filter uppercase/,
    );
    const { template_id: id } = await create();
    await expect(update(id, { subject: '{% if %}', text: 't' })).rejects.toThrow('subject, line 1');
    expect(await show({ id: String(id) })).toMatchObject({ version: 1 });
  });

  it('keeps the channel and the category, and changes the name', async () => {
    const { template_id: id } = await create();
    await expect(update(id, { ...EMAIL, category: 'service' })).rejects.toThrow(
      'the category of a template stays marketing',
    );
    await expect(update(id, { ...EMAIL, channel: 'sms' })).rejects.toThrow(
      'the channel of a template stays email',
    );
    await update(id, { ...EMAIL, name: 'نوروز' });
    expect(await show({ id: String(id) })).toMatchObject({ name: 'نوروز', version: 2 });
  });

  it('knows whose template it is', async () => {
    const { template_id: id } = await create();
    await expect(update(id, EMAIL, 2)).rejects.toThrow(`the account 2 has no template`);
    await expect(update(999_999, EMAIL)).rejects.toThrow('there is no template 999999');
    await expect(update(id, [])).rejects.toThrow('the template is not a JSON object');
  });
});
