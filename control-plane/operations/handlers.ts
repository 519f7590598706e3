import Type from 'typebox';
import { numericPathId } from '../../platform/http/path-id.ts';
import { readChanges } from '../../platform/changes/read-changes.ts';
import {
  isOfInstallation,
  OPERATION_KINDS,
  OPERATIONS,
  type Operation,
} from '../../platform/operations/operation.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { readBody } from '../routes/read-body.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf, type Caller } from '../sessions/authenticate.ts';
import { MAX_OPEN } from './operation-store.ts';

const OperationBody = Type.Object({
  kind: Type.Enum([...OPERATION_KINDS]),
  input: Type.Object({}, { additionalProperties: true }),
});

const SHOWN = 30;

/** GET /v1/operations: newest first, without dry runs. */
export async function listOperations(
  { caller }: MemberRequest,
  { operations }: Services,
): Promise<Answer> {
  return answer({ operations: await operations.list(viewerOf(caller), SHOWN) });
}

/** GET /v1/operations/{id}: its state, and its result once it has ended. */
export async function getOperation(
  { caller, params }: MemberRequest,
  { operations }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const operation = await operations.find(viewerOf(caller), id);
  return operation ? answer(operation) : refuse('not_found');
}

/** POST /v1/operations: 202 with its id; the same request twice is one operation. */
export async function requestOperation(
  { caller, body }: MemberRequest,
  { operations, wakeOperator }: Services,
): Promise<Answer> {
  const read = readBody(OperationBody, body);
  if (!read.ok) return read;
  const { kind } = read.value;
  if (isOfInstallation(kind) && !isOperator(caller)) return refuseNonOperator();
  const input = readBody(OPERATIONS[kind], read.value.input);
  if (!input.ok) return input;
  // A command is given neither as it is: it would be about another person.
  if (!Object.values(input.value).every(isArgument))
    return refuse('invalid_request', {
      message: 'a text must have no NUL and no half of a surrogate pair',
    });
  const operation = { kind, input: input.value } as Operation;
  const id = await operations.request(actorOf(caller), operation);
  wakeOperator('operations');
  return id === undefined
    ? refuse('invalid_request', { message: `at most ${MAX_OPEN} operations wait at a time` })
    : answer({ id }, { status: 202 });
}

/** POST /v1/operations/{id}/stop: 202; the same request later continues a replay or rebuild. */
export async function stopOperation(
  { caller, params }: MemberRequest,
  { operations, wakeOperator }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const isStopping = await operations.stop({ ...viewerOf(caller), ...actorOf(caller) }, id);
  wakeOperator('operations');
  return isStopping ? answer({ id }, { status: 202 }) : refuse('not_found');
}

/** GET /v1/jobs: replays and rebuilds of the installation, for operators. */
export async function listJobs({ caller }: MemberRequest, { jobs }: Services): Promise<Answer> {
  return isOperator(caller) ? answer({ jobs: await jobs.list() }) : refuseNonOperator();
}

const DAY = 86_400_000;
const MAX_DAYS = 90;
const MAX_CHANGES = 500;

/**
 * GET /v1/changes: what `./ravand changes` shows, newest first: the account's, for operators those
 * of the whole installation. `days`: of the last so many, 1 by default.
 */
export async function listChanges(
  { caller, query, now }: MemberRequest,
  { database }: Services,
): Promise<Answer> {
  const days = Math.min(numericPathId(query.get('days') ?? '') ?? 1, MAX_DAYS);
  const since = now - days * DAY;
  const accountId = isOperator(caller) ? undefined : caller.account.id;
  const found = await readChanges(database, { since, accountId, limit: MAX_CHANGES + 1 });
  return answer({
    since: new Date(since).toISOString(),
    more: found.length > MAX_CHANGES,
    changes: found
      .slice(-MAX_CHANGES)
      .reverse()
      .map(({ at, accountId: account_id, ...change }) => ({
        ...{ at: new Date(at).toISOString(), account_id, ...change },
      })),
  });
}

function isArgument(value: unknown): boolean {
  return typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'));
}

function isOperator({ account }: Caller): boolean {
  return account.isOperator === true;
}

function viewerOf(caller: Caller): { accountId: number; isOperator: boolean } {
  return { accountId: caller.account.id, isOperator: isOperator(caller) };
}

function refuseNonOperator(): Answer {
  return refuse('forbidden', {
    message: 'this concerns every account of the installation: it is for its operators',
    need: 'operator',
  });
}
