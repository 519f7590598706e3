import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import { answer, type Answer } from '../errors.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';

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
