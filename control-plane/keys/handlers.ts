import Type, { type Static } from 'typebox';
import { numericPathId } from '../../platform/http/path-id.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { isWithin } from '../members/decide.ts';
import { readBody } from '../routes/read-body.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf } from '../sessions/authenticate.ts';
import { KEY_ROLES } from './key-roles.ts';
import { MAX_KEYS, type KeyKind } from './key-store.ts';
import { makeKey, MANAGEMENT_KEY_PREFIX, WRITE_KEY_PREFIX } from './make-key.ts';

const DAY = 86_400_000;
const DEFAULT_DAYS = 365;

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
export const WriteKeyBody = Type.Object({ app: Name, environment: Name });
export const ManagementKeyBody = Type.Object({
  role: Type.Enum([...KEY_ROLES]),
  expires_in_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650 })),
});

const TOO_MANY = `an account has at most ${MAX_KEYS} keys of each kind, revoked ones included`;

/** GET /v1/keys: write keys and management keys; never the keys themselves. */
export async function listKeys({ caller }: MemberRequest, { keys }: Services): Promise<Answer> {
  const { write, management } = await keys.list(caller.account.id);
  return answer({ write_keys: write, management_keys: management });
}

/** POST /v1/write-keys: 201; the key is in this answer and nowhere else. */
export async function createWriteKey(
  { caller, body }: MemberRequest,
  { keys }: Services,
): Promise<Answer> {
  const read = readBody(WriteKeyBody, body);
  if (!read.ok) return read;
  const { app, environment }: Static<typeof WriteKeyBody> = read.value;
  const { key, hash } = makeKey(WRITE_KEY_PREFIX);
  const id = await keys.createWrite(actorOf(caller), {
    ...{ app: app.trim(), environment: environment.trim(), hash },
  });
  return id === undefined
    ? refuse('invalid_request', { message: TOO_MANY })
    : answer({ id, write_key: key }, { status: 201 });
}

/**
 * POST /v1/management-keys: 201; the key is in this answer and nowhere else. A key cannot outrank
 * the member who makes it (management 5.1).
 */
export async function createManagementKey(
  { caller, body, now }: MemberRequest,
  { keys }: Services,
): Promise<Answer> {
  const read = readBody(ManagementKeyBody, body);
  if (!read.ok) return read;
  const { role, expires_in_days: days = DEFAULT_DAYS } = read.value;
  if (!isWithin(role, caller.account.role))
    return refuse('invalid_request', {
      message: `a key cannot have more permissions than you: your role is ${caller.account.role}`,
    });
  const { key, hash } = makeKey(MANAGEMENT_KEY_PREFIX);
  const expiresAt = new Date(now + days * DAY);
  const id = await keys.createManagement(actorOf(caller), { role, expiresAt, hash });
  return id === undefined
    ? refuse('invalid_request', { message: TOO_MANY })
    : answer({ id, management_key: key, expires_at: expiresAt.toISOString() }, { status: 201 });
}

/** DELETE /v1/write-keys/{id} and /v1/management-keys/{id}: 204; it works for a minute at most. */
export function revokeKey(kind: KeyKind) {
  return async ({ caller, params }: MemberRequest, { keys }: Services): Promise<Answer> => {
    const id = numericPathId(params['id']);
    if (id === undefined) return refuse('bad_id');
    const isRevoked = await keys.revoke(actorOf(caller), { kind, id });
    return isRevoked ? answer(undefined, { status: 204 }) : refuse('not_found');
  };
}
