import { RefusedChange } from '../../events/channels/fields.ts';
import { isJsonObject } from '../../events/json.ts';
import { checkTemplate } from '../../messaging/rendering/check-template.ts';
import { compileTemplate } from '../../messaging/rendering/compile.ts';
import { renderMessage } from '../../messaging/rendering/render-message.ts';
import { smsParts, type SmsParts } from '../../messaging/sms/sms-parts.ts';
import { missingVariables } from '../../messaging/templates/missing-variables.ts';
import { readTemplateDraft } from '../../messaging/templates/read-draft.ts';
import { TemplateStore, type SavedTemplate } from '../../messaging/templates/template-store.ts';
import {
  MAX_ACCOUNT_BYTES,
  MAX_TEMPLATES,
  type TemplateContent,
} from '../../messaging/templates/template.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { OPTIONAL, REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption, requireAccount } from './command.ts';
import { readJsonInput } from './read-input.ts';

const CREATE_USAGE = 'template create --account ID < template.json';
const UPDATE_USAGE = 'template update --id N [--account ID] < template.json';

/** `./ravand admin template create`: the first version of a template. */
export const templateCreate = adminCommand({
  name: 'template create',
  usage: CREATE_USAGE,
  options: { account: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    await requireAccount(database, accountId);
    return await createTemplate(database, { accountId, sent: await readJsonInput(CREATE_USAGE) });
  },
});

/** `./ravand admin template update`: a new version, which campaigns use once they name it. */
export const templateUpdate = adminCommand({
  name: 'template update',
  usage: UPDATE_USAGE,
  options: { id: REQUIRED, account: OPTIONAL },
  async run(line, { database }) {
    const id = idOption(line.values, 'id');
    const account =
      line.values.account === undefined ? undefined : idOption(line.values, 'account');
    return await updateTemplate(database, { id, account, sent: await readJsonInput(UPDATE_USAGE) });
  },
});

/** `./ravand admin template show`: a version, and the variables that its messages lacked. */
export const templateShow = adminCommand({
  name: 'template show',
  usage: 'template show --id N [--version V]',
  options: { id: REQUIRED, version: OPTIONAL },
  async run(line, { database }) {
    const id = idOption(line.values, 'id');
    const store = new TemplateStore(database);
    const newest = await requireTemplate(store, { id });
    const number =
      line.values.version === undefined ? newest.version : idOption(line.values, 'version');
    const template = await store.version(id, number);
    if (!template) throw new CommandError(`the template ${id} has no version ${number}`);
    const { version, channel, category, content, accountId } = template;
    return {
      ...{ template_id: id, account_id: accountId, version, newest_version: newest.version },
      ...{ name: newest.name, channel, category, ...content },
      ...(channel === 'sms' ? { sms: smsOf(content) } : {}),
      missing_variables: await missingVariables(database, { templateId: id, version }),
    };
  },
});

/** What operators bill for the text without its values; the values of a person make it longer. */
function smsOf(content: TemplateContent): Pick<SmsParts, 'encoding' | 'units'> & { parts: number } {
  const nobody = { user: {}, vars: {}, event: {} };
  const rendering = renderMessage(
    { parts: compileTemplate(content, 'sms'), channel: 'sms' },
    nobody,
    () => performance.now(),
  );
  const text = 'error' in rendering ? '' : rendering.content.text;
  const { encoding, units, parts } = smsParts(text);
  return { encoding, units, parts: parts.length };
}

/** Stores a template as it was sent. Throws CommandError. */
export async function createTemplate(
  database: Pick<Database, 'query'>,
  { accountId, sent }: { accountId: number; sent: unknown },
): Promise<Record<string, unknown>> {
  const draft = readDraft(sent);
  const author = { accountId, actor: 'operator' };
  return savedTemplate(await new TemplateStore(database).create(author, draft));
}

/** Its parts are replaced as a whole; the name stays unless it is sent. Throws CommandError. */
export async function updateTemplate(
  database: Pick<Database, 'query'>,
  { id, account, sent }: { id: number; account: number | undefined; sent: unknown },
): Promise<Record<string, unknown>> {
  if (!isJsonObject(sent)) throw new CommandError('the template is not a JSON object');
  const store = new TemplateStore(database);
  const { name, channel, category, accountId } = await requireTemplate(store, { id, account });
  const draft = readDraft({ name, channel, category, ...sent });
  for (const [field, is, stays] of [
    ['channel', draft.channel, channel],
    ['category', draft.category, category],
  ] as const)
    if (is !== stays)
      throw new CommandError(`the ${field} of a template stays ${stays}: create another template`);
  const author = { accountId, actor: 'operator' };
  const change = { templateId: id, name: draft.name, content: draft.content };
  return savedTemplate(await store.update(author, change));
}

async function requireTemplate(
  store: TemplateStore,
  { id, account }: { id: number; account?: number | undefined },
) {
  const template = await store.newest(id);
  if (!template || (account !== undefined && template.accountId !== account))
    throw new CommandError(
      `${account === undefined ? 'there is' : `the account ${account} has`} no template ${id}`,
    );
  return template;
}

function readDraft(sent: unknown) {
  try {
    return readTemplateDraft(sent, checkTemplate);
  } catch (error) {
    if (error instanceof RefusedChange) throw new CommandError(error.message);
    throw error;
  }
}

function savedTemplate(saved: SavedTemplate): Record<string, unknown> {
  if (saved === 'not_found') throw new CommandError('the template is not there any more');
  if (saved === 'full')
    throw new CommandError(
      `an account has at most ${MAX_TEMPLATES} templates, whose versions have ${MAX_ACCOUNT_BYTES} bytes together`,
    );
  return { template_id: saved.templateId, version: saved.version };
}
