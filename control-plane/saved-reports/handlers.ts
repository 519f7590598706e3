import Type from 'typebox';
import { numericPathId } from '../../platform/http/path-id.ts';
import { grants } from '../../platform/permissions.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { readBody } from '../routes/read-body.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf, type Caller } from '../sessions/authenticate.ts';
import {
  MAX_SAVED_REPORTS,
  REPORT_KINDS,
  type Editor,
  type ReportDraft,
} from './saved-report-store.ts';

const MAX_DEFINITION_BYTES = 65_536;

export const SavedReportBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
  kind: Type.Enum([...REPORT_KINDS]),
  definition: Type.Object({}, { additionalProperties: true }),
});

/** GET /v1/saved-reports: most recently changed first. */
export async function listSavedReports(
  { caller }: MemberRequest,
  { savedReports }: Services,
): Promise<Answer> {
  return answer({ saved_reports: await savedReports.list(caller.account.id) });
}

/** POST /v1/saved-reports: 201. */
export async function createSavedReport(
  { caller, body }: MemberRequest,
  { savedReports }: Services,
): Promise<Answer> {
  const draft = readDraft(body);
  if ('ok' in draft) return draft;
  const id = await savedReports.create(actorOf(caller), draft);
  return id === undefined
    ? refuse('invalid_request', {
        message: `an account has at most ${MAX_SAVED_REPORTS} saved reports`,
      })
    : answer({ id }, { status: 201 });
}

/** PUT /v1/saved-reports/{id}: replaces name and definition; 404 for a report of another member. */
export async function replaceSavedReport(
  { caller, params, body }: MemberRequest,
  { savedReports }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const draft = readDraft(body);
  if ('ok' in draft) return draft;
  const isReplaced = await savedReports.replace(editorOf(caller), { id, ...draft });
  return isReplaced ? answer({ id }) : refuse('not_found');
}

/** DELETE /v1/saved-reports/{id}: 204. */
export async function removeSavedReport(
  { caller, params }: MemberRequest,
  { savedReports }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const isRemoved = await savedReports.remove(editorOf(caller), id);
  return isRemoved ? answer(undefined, { status: 204 }) : refuse('not_found');
}

/** Who may write settings may change the reports of others, too. */
export function editorOf(caller: Caller): Editor {
  return { ...actorOf(caller), isAdmin: grants[caller.account.role].includes('settings.write') };
}

function readDraft(body: unknown): ReportDraft | Extract<Answer, { ok: false }> {
  const read = readBody(SavedReportBody, body);
  if (!read.ok) return read;
  const definition = JSON.stringify(read.value.definition);
  // PostgreSQL holds no NUL in JSON.
  if (Buffer.byteLength(definition) > MAX_DEFINITION_BYTES || definition.includes('\\u0000'))
    return refuse('invalid_request', {
      message: `definition must have at most ${MAX_DEFINITION_BYTES} bytes and no NUL`,
    }) as Extract<Answer, { ok: false }>;
  return { name: read.value.name.trim(), kind: read.value.kind, definition };
}
