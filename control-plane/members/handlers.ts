import Type from 'typebox';
import { numericPathId } from '../../platform/http/path-id.ts';
import { roles } from '../../platform/permissions.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { readBody } from '../routes/read-body.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import type { Caller } from '../sessions/authenticate.ts';
import { refuseChange, type MembershipChange } from './decide.ts';
import { readEmail } from './email.ts';
import { TooBusy } from './hash-queue.ts';
import { MAX_MEMBERS } from './membership-store.ts';
import { generatePassword, hashPassword } from './password.ts';

const RoleSchema = Type.Enum([...roles]);
export const MemberBody = Type.Object({
  email: Type.String({ minLength: 3, maxLength: 320 }),
  role: RoleSchema,
});
export const RoleBody = Type.Object({ role: RoleSchema });

/** GET /v1/members: oldest first. */
export async function listMembers(
  { caller }: MemberRequest,
  { memberships }: Services,
): Promise<Answer> {
  return answer({ members: await memberships.list(caller.account.id) });
}

/**
 * POST /v1/members: 201. Somebody new gets a generated password, which is in this answer and
 * nowhere else; a member of another account keeps theirs.
 */
export async function addMember(
  { caller, body }: MemberRequest,
  { memberships, hashes }: Services,
): Promise<Answer> {
  const read = readBody(MemberBody, body);
  if (!read.ok) return read;
  const { role } = read.value;
  const email = readEmail(read.value.email);
  if (email === undefined)
    return refuse('invalid_request', { message: 'email must be an e-mail address' });
  const refusal = refusalOf(caller, { from: undefined, to: role });
  if (refusal) return refusal;
  const password = generatePassword();
  let passwordHash: string;
  try {
    passwordHash = await hashes.run(`member ${caller.memberId}`, () => hashPassword(password));
  } catch (error) {
    if (error instanceof TooBusy) return refuse('busy', { retryAfter: 1 });
    throw error;
  }
  const added = await memberships.add(authorOf(caller), { email, role, passwordHash });
  if (!added)
    return refuse('invalid_request', {
      message: `this person is a member already, or the account has ${MAX_MEMBERS} members`,
    });
  const { memberId: id, existed } = added;
  return answer({ id, email, role, ...(existed ? {} : { password }) }, { status: 201 });
}

/** PUT /v1/members/{id}/role: applies at their next request, and signs them out. */
export async function setMemberRole(
  request: MemberRequest,
  { memberships }: Services,
): Promise<Answer> {
  const { caller, params, body } = request;
  const memberId = numericPathId(params['id']);
  if (memberId === undefined) return refuse('bad_id');
  const read = readBody(RoleBody, body);
  if (!read.ok) return read;
  const { role } = read.value;
  const from = await memberships.find(caller.account.id, memberId);
  if (!from) return refuse('not_found');
  const refusal = refusalOf(caller, { from, to: role, memberId });
  if (refusal) return refusal;
  const outcome = await memberships.setRole(authorOf(caller), { memberId, role });
  return outcome === 'changed' ? answer({ id: memberId, role }) : refuseOutcome(outcome);
}

/** DELETE /v1/members/{id}: 204; signs them out. Nobody is left without an account. */
export async function removeMember(
  { caller, params }: MemberRequest,
  { memberships }: Services,
): Promise<Answer> {
  const memberId = numericPathId(params['id']);
  if (memberId === undefined) return refuse('bad_id');
  const from = await memberships.find(caller.account.id, memberId);
  if (!from) return refuse('not_found');
  const refusal = refusalOf(caller, { from, to: undefined, memberId });
  if (refusal) return refusal;
  const outcome = await memberships.remove(authorOf(caller), memberId);
  if (outcome !== 'removed') return refuseOutcome(outcome);
  await memberships.removeStranger(memberId);
  return answer(undefined, { status: 204 });
}

function authorOf({ account, memberId }: Caller) {
  return { accountId: account.id, actor: `member:${memberId}` };
}

function refusalOf(
  { account, memberId: own }: Caller,
  { memberId, ...change }: Pick<MembershipChange, 'from' | 'to'> & { memberId?: number },
): Answer | undefined {
  const message = refuseChange({ ...change, by: account.role, isOwn: memberId === own });
  return message === undefined ? undefined : refuse('invalid_request', { message });
}

function refuseOutcome(outcome: 'last_owner' | undefined): Answer {
  return outcome === undefined
    ? refuse('not_found')
    : refuse('invalid_request', { message: 'an account keeps at least one owner' });
}
