import { recordAudit } from '../../platform/audit.ts';
import { roles, type Role } from '../../platform/permissions.ts';
import { readEmail } from '../../control-plane/members/email.ts';
import { generatePassword, hashPassword } from '../../control-plane/members/password.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption, requireAccount } from './command.ts';
import { addMember, removeMember, setOperator, setPassword, setRole } from './member-store.ts';

const OPERATOR = 'operator';

/** `./ravand admin member create`: the password is printed once and stored as a hash only. */
export const memberCreate = adminCommand({
  name: 'member create',
  usage: 'member create --account ID --email ADDRESS --role ROLE',
  options: { account: REQUIRED, email: REQUIRED, role: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    const [email, role] = [emailOption(line.values.email), roleOption(line.values.role)];
    await requireAccount(database, accountId);
    const password = generatePassword();
    const made = await addMember({
      database,
      email,
      accountId,
      role,
      passwordHash: await hashPassword(password),
    });
    if (!made)
      throw new CommandError(
        `${email} is a member of account ${accountId} already: change the role with member set-role`,
      );
    const { memberId, existed } = made;
    await recordAudit(database, {
      accountId,
      actor: OPERATOR,
      action: 'member.created',
      details: { member_id: memberId, role },
    });
    const answer = { member_id: memberId, account_id: accountId, email, role };
    return existed
      ? { ...answer, note: 'a member of another account already, with the password that they have' }
      : { ...answer, password };
  },
});

/** `./ravand admin member set-role`: takes effect at the next request, and signs the person out. */
export const memberSetRole = adminCommand({
  name: 'member set-role',
  usage: 'member set-role --account ID --email ADDRESS --role ROLE',
  options: { account: REQUIRED, email: REQUIRED, role: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    const [email, role] = [emailOption(line.values.email), roleOption(line.values.role)];
    const memberId = await setRole({ database, email, accountId, role });
    if (memberId === undefined) throw noMember(email, accountId);
    await recordAudit(database, {
      accountId,
      actor: OPERATOR,
      action: 'member.role_changed',
      details: { member_id: memberId, role },
    });
    return { member_id: memberId, account_id: accountId, email, role };
  },
});

/** `./ravand admin member set-password`: prints a new password once, and signs the person out. */
export const memberSetPassword = adminCommand({
  name: 'member set-password',
  usage: 'member set-password --email ADDRESS',
  options: { email: REQUIRED },
  async run(line, { database }) {
    const email = emailOption(line.values.email);
    const password = generatePassword();
    const changed = await setPassword({
      database,
      email,
      passwordHash: await hashPassword(password),
    });
    if (!changed) throw new CommandError(`there is no member ${email}`);
    const { memberId, accountIds } = changed;
    for (const accountId of accountIds)
      await recordAudit(database, {
        accountId,
        actor: OPERATOR,
        action: 'member.password_changed',
        details: { member_id: memberId },
      });
    return { member_id: memberId, email, password };
  },
});

/**
 * `./ravand admin member set-operator`: a member who may replay and rebuild in the panel, which
 * concerns all accounts. No role of an account has this.
 */
export const memberSetOperator = adminCommand({
  name: 'member set-operator',
  usage: 'member set-operator --email ADDRESS [--remove]',
  options: { email: REQUIRED, remove: { type: 'boolean' } },
  async run(line, { database }) {
    const email = emailOption(line.values.email);
    const isOperator = line.values.remove !== true;
    const memberId = await setOperator({ database, email, isOperator });
    if (memberId === undefined) throw new CommandError(`there is no member ${email}`);
    return { member_id: memberId, email, is_operator: isOperator };
  },
});

/** `./ravand admin member remove`: ends a membership, and signs the person out. */
export const memberRemove = adminCommand({
  name: 'member remove',
  usage: 'member remove --account ID --email ADDRESS',
  options: { account: REQUIRED, email: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    const email = emailOption(line.values.email);
    const removed = await removeMember({ database, email, accountId });
    if (!removed) throw noMember(email, accountId);
    await recordAudit(database, {
      accountId,
      actor: OPERATOR,
      action: 'member.removed',
      details: { member_id: removed.memberId },
    });
    return {
      member_id: removed.memberId,
      account_id: accountId,
      email,
      forgotten: removed.forgotten,
    };
  },
});

function emailOption(text: string): string {
  const email = readEmail(text);
  if (email === undefined) throw new CommandError(`--email ${text}: expected an e-mail address`);
  return email;
}

function roleOption(text: string): Role {
  const role = roles.find((name) => name === text);
  if (!role) throw new CommandError(`--role ${text}: expected one of ${roles.join(', ')}`);
  return role;
}

function noMember(email: string, accountId: number): CommandError {
  return new CommandError(`${email} is no member of account ${accountId}`);
}
