import { BatchedLookup } from '../../platform/batched-lookup.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { CachedTemplates } from '../../messaging/templates/cached-templates.ts';
import { TemplateStore } from '../../messaging/templates/template-store.ts';
import type { TemplateVersion } from '../../messaging/templates/template.ts';

/**
 * The newest version of a template of an account; undefined when it has no such template. Which one
 * is the newest is read with each request, for concurrent ones in one statement; contents are kept.
 */
export function newestTemplates(
  database: Pick<Database, 'query'>,
): (accountId: number, templateId: number) => Promise<TemplateVersion | undefined> {
  const contents = new CachedTemplates(new TemplateStore(database));
  const newest = new BatchedLookup(async (ids: number[]) => {
    const { rows } = await database.query<{ id: string; account_id: string; version: number }>(
      'SELECT id, account_id, version FROM message_templates WHERE id = ANY($1::bigint[])',
      [ids],
    );
    return new Map(
      rows.map(({ id, account_id, version }) => [
        Number(id),
        { accountId: Number(account_id), version },
      ]),
    );
  });
  return async (accountId, templateId) => {
    const head = await newest.find(templateId);
    return head?.accountId === accountId ? contents.version(templateId, head.version) : undefined;
  };
}
