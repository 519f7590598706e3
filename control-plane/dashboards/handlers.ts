import Type from 'typebox';
import { numericPathId } from '../../platform/http/path-id.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { readBody } from '../routes/read-body.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { editorOf } from '../saved-reports/handlers.ts';
import { MAX_DASHBOARDS, MAX_REPORTS } from './dashboard-store.ts';

const DashboardBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
  report_ids: Type.Array(Type.Integer({ minimum: 1 }), {
    maxItems: MAX_REPORTS,
    uniqueItems: true,
  }),
});

/** GET /v1/dashboards: most recently changed first. */
export async function listDashboards(
  { caller }: MemberRequest,
  { dashboards }: Services,
): Promise<Answer> {
  return answer({ dashboards: await dashboards.list(caller.account.id) });
}

/** POST /v1/dashboards: 201. */
export async function createDashboard(
  { caller, body }: MemberRequest,
  { dashboards }: Services,
): Promise<Answer> {
  const read = readBody(DashboardBody, body);
  if (!read.ok) return read;
  const id = await dashboards.create(editorOf(caller), trimmed(read.value));
  return id === undefined
    ? refuse('invalid_request', { message: `an account has at most ${MAX_DASHBOARDS} dashboards` })
    : answer({ id }, { status: 201 });
}

/** PUT /v1/dashboards/{id}: replaces name and reports; 404 for a dashboard of another member. */
export async function replaceDashboard(
  { caller, params, body }: MemberRequest,
  { dashboards }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const read = readBody(DashboardBody, body);
  if (!read.ok) return read;
  const isReplaced = await dashboards.replace(editorOf(caller), { id, ...trimmed(read.value) });
  return isReplaced ? answer({ id }) : refuse('not_found');
}

/** DELETE /v1/dashboards/{id}: 204; its reports stay. */
export async function removeDashboard(
  { caller, params }: MemberRequest,
  { dashboards }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const isRemoved = await dashboards.remove(editorOf(caller), id);
  return isRemoved ? answer(undefined, { status: 204 }) : refuse('not_found');
}

function trimmed<Draft extends { name: string }>(draft: Draft): Draft {
  return { ...draft, name: draft.name.trim() };
}
