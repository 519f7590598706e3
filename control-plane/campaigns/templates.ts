import { RefusedChange } from '../../events/channels/fields.ts';
import { checkTemplate } from '../../messaging/rendering/check-template.ts';
import { readTemplateDraft } from '../../messaging/templates/read-draft.ts';
import { TemplateStore, type SavedTemplate } from '../../messaging/templates/template-store.ts';
import {
  MAX_ACCOUNT_BYTES,
  MAX_TEMPLATES,
  type TemplateDraft,
} from '../../messaging/templates/template.ts';
import { numericPathId } from '../../platform/http/path-id.ts';
import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf } from '../sessions/authenticate.ts';

const LISTED = 1000;

interface TemplateRow {
  id: string;
  name: string;
  channel: string;
  category: string;
  version: number;
  updated_at: Date;
  content: Record<string, unknown>;
}

/** GET /v1/templates: the newest version of each template, most recently changed first. */
export async function listTemplates(request: MemberRequest, services: Services): Promise<Answer> {
  return await orUnavailable({ request, services, code: 'template_store' }, async () => {
    const { rows } = await services.database.query<TemplateRow>(
      `SELECT t.id, t.name, t.channel, t.category, t.version, t.updated_at, v.content FROM message_templates t
       JOIN message_template_versions v ON v.template_id = t.id AND v.version = t.version
       WHERE t.account_id = $1 ORDER BY t.updated_at DESC, t.id DESC LIMIT ${LISTED}`,
      [request.caller.account.id],
    );
    return answer({
      templates: rows.map(({ id, name, updated_at, ...template }) => ({
        ...{ id: Number(id), name: unescapeText(name), updated_at: updated_at.toISOString() },
        ...template,
      })),
    });
  });
}

/**
 * POST /v1/templates: 201; PUT /v1/templates/{id}: its next version, which campaigns use once they
 * name it. The sentence of a refusal says which part is wrong, with line and column.
 */
export async function saveTemplate(request: MemberRequest, services: Services): Promise<Answer> {
  const { caller, params, body } = request;
  const { accountId, memberId } = actorOf(caller);
  const author = { accountId, actor: `member:${memberId}` };
  const isNew = params['id'] === undefined;
  const templateId = isNew ? undefined : numericPathId(params['id']);
  if (!isNew && templateId === undefined) return refuse('bad_id');
  let draft: TemplateDraft;
  try {
    draft = readTemplateDraft(body, checkTemplate);
  } catch (error) {
    if (error instanceof RefusedChange)
      return refuse('invalid_request', { message: error.message });
    throw error;
  }
  return await orUnavailable({ request, services, code: 'template_store' }, async () => {
    const store = new TemplateStore(services.database);
    if (templateId === undefined) return answerSaved(await store.create(author, draft), 201);
    const newest = await store.newest(templateId);
    if (newest?.accountId !== accountId) return refuse('not_found');
    if (newest.channel !== draft.channel || newest.category !== draft.category)
      return refuse('invalid_request', {
        message: 'the channel and the category of a template never change: make another one',
      });
    const { name, content } = draft;
    return answerSaved(await store.update(author, { templateId, name, content }), 200);
  });
}

function answerSaved(saved: SavedTemplate, status: number): Answer {
  if (saved === 'not_found') return refuse('not_found');
  if (saved === 'full')
    return refuse('invalid_request', {
      message: `an account has at most ${MAX_TEMPLATES} templates, of ${MAX_ACCOUNT_BYTES} bytes together`,
    });
  return answer({ id: saved.templateId, version: saved.version }, { status });
}
