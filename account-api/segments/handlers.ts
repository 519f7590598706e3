import Type, { type Static } from 'typebox';
import { truncateBytes, utf8Length } from '../../events/bytes.ts';
import { readAudience } from '../../audiences/read.ts';
import { audienceSchema } from '../../audiences/schema.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import { answer, reject, type Answer } from '../errors/domain-error.ts';
import { answerOrUnavailable } from '../http/answer-or-unavailable.ts';
import { findViolation } from '../http/check-body.ts';
import { pathId } from '../../platform/http/path-id.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';
import { canonicalDefinition } from '../../audiences/canonical.ts';
import { MAX_DEFINITION_BYTES, MAX_NAME_BYTES, tooManySegments } from './limits.ts';
import type { Author, SegmentDraft, Stored } from './segment-store.ts';

/** GET /v1/segments (management 2.6): one account's newest 200, without paging. */
export function listSegments(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('segments_unavailable', { request, services }, async (accountId) =>
    answer({ segments: await services.segments.list(accountId) }),
  );
}

/** GET /v1/segments/{id}. */
export function getSegment(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('segments_unavailable', { request, services }, async (accountId) => {
    const id = pathId(request.params['id']);
    if (id === undefined) return reject('bad_id', { message: 'invalid segment id' });
    const segment = await services.segments.find(accountId, id);
    return segment ? answer(segment) : reject('not_found', { message: 'segment not found' });
  });
}

/**
 * POST /v1/segments: 201 with the segment. A repeated request makes another one (management 7.7).
 */
export function createSegment(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('segment_unavailable', { request, services }, async () => {
    const draft = readDraft(request.body);
    if ('ok' in draft) return draft;
    return answerStored(await services.segments.create(authorOf(request), draft), 201);
  });
}

/** PUT /v1/segments/{id}: replaces the whole segment. */
export function replaceSegment(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('segment_unavailable', { request, services }, async () => {
    const id = pathId(request.params['id']);
    if (id === undefined) return reject('bad_id');
    const draft = readDraft(request.body);
    if ('ok' in draft) return draft;
    return answerStored(await services.segments.replace(authorOf(request), { id, ...draft }), 200);
  });
}

function answerStored(stored: Stored, status: number): Answer {
  if (stored === 'not_found') return reject('not_found', { message: 'segment not found' });
  if (stored === 'full') return reject('filter_invalid', { message: tooManySegments });
  return answer(stored, { status });
}

/**
 * DELETE /v1/segments/{id}: 204, also when there was none (the specification names no 404 here).
 */
export function removeSegment(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('segment_unavailable', { request, services }, async () => {
    const id = pathId(request.params['id']);
    if (id === undefined) return reject('bad_id');
    await services.segments.remove(authorOf(request), id);
    return answer(undefined, { status: 204 });
  });
}

/** The body of POST and PUT /v1/segments. */
export const SegmentDraftBody = Type.Object(
  { name: Type.String(), definition: audienceSchema },
  { $id: 'SegmentDraft' },
);

function readDraft(body: unknown): SegmentDraft | Answer {
  const violation = findViolation(SegmentDraftBody, body, { stopAt: ['definition'] });
  if (violation?.path === '') return reject('malformed_json');
  if (violation?.path === 'name') return reject('name_required');
  const { name: sent, definition } = body as Static<typeof SegmentDraftBody>;
  // PostgreSQL holds no NUL in text.
  const name = truncateBytes(sent.replaceAll('\0', ''), MAX_NAME_BYTES);
  if (name.trim() === '') return reject('name_required');
  const outcome = readAudience(definition);
  if (!outcome.ok) return reject('filter_invalid', { message: outcome.message });
  const canonical = JSON.stringify(canonicalDefinition(definition));
  if (utf8Length(canonical) > MAX_DEFINITION_BYTES)
    return reject('filter_invalid', {
      message: `segment: the definition is larger than ${MAX_DEFINITION_BYTES} bytes`,
    });
  return { name, definition: canonical };
}

function authorOf({ caller: { accountId, actor } }: ApiRequest): Author {
  return { accountId, actor };
}

interface Context {
  request: ApiRequest;
  services: Services;
}

function stored(
  error: ErrorCode,
  context: Context,
  work: (accountId: number) => Promise<Answer>,
): Promise<Answer> {
  const message = 'the segment store failed';
  return answerOrUnavailable({ ...context, error, code: error, message, work });
}
