import { recordAudit } from '../../platform/audit.ts';
import { roles, type Role } from '../../platform/permissions.ts';
import { readEmail } from '../../control-plane/members/email.ts';
import { generatePassword, hashPassword } from '../../control-plane/members/password.ts';
import {
  AdminRefusal,
  idOption,
  requireAccount,
  type AdminCommand,
  type AdminOptions,
} from './command.ts';
import { addMember, removeMember, setPassword, setRole } from './member-store.ts';

const OPERATOR = 'operator';

/** `./ravand admin member create`: the password is printed once and stored as a hash only. */
export const memberCreate: AdminCommand = {
  group: 'member',
  verb: 'create',
  usage: 'member create --account ID --email ADDRESS --role ROLE',
  options: ['account!', 'email!', 'role!'],
  async run(input, database) {
    const accountId = idOption(input, 'account');
    const [email, role] = [emailOption(input), roleOption(input)];
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
      throw new AdminRefusal(
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
};

/** `./ravand admin member set-role`: holds from the next request on, and signs the person out. */
export const memberSetRole: AdminCommand = {
  group: 'member',
  verb: 'set-role',
  usage: 'member set-role --account ID --email ADDRESS --role ROLE',
  options: ['account!', 'email!', 'role!'],
  async run(input, database) {
    const accountId = idOption(input, 'account');
    const [email, role] = [emailOption(input), roleOption(input)];
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
};

/** `./ravand admin member set-password`: prints a new password once, and signs the person out. */
export const memberSetPassword: AdminCommand = {
  group: 'member',
  verb: 'set-password',
  usage: 'member set-password --email ADDRESS',
  options: ['email!'],
  async run(input, database) {
    const email = emailOption(input);
    const password = generatePassword();
    const changed = await setPassword({
      database,
      email,
      passwordHash: await hashPassword(password),
    });
    if (!changed) throw new AdminRefusal(`there is no member ${email}`);
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
};

/** `./ravand admin member remove`: ends a membership, and signs the person out. */
export const memberRemove: AdminCommand = {
  group: 'member',
  verb: 'remove',
  usage: 'member remove --account ID --email ADDRESS',
  options: ['account!', 'email!'],
  async run(input, database) {
    const accountId = idOption(input, 'account');
    const email = emailOption(input);
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
};

function emailOption(input: AdminOptions): string {
  const text = input.options['email'] ?? '';
  const email = readEmail(text);
  if (email === undefined) throw new AdminRefusal(`--email ${text}: expected an e-mail address`);
  return email;
}

function roleOption(input: AdminOptions): Role {
  const role = roles.find((name) => name === input.options['role']);
  if (!role)
    throw new AdminRefusal(
      `--role ${input.options['role'] ?? ''}: expected one of ${roles.join(', ')}`,
    );
  return role;
}

function noMember(email: string, accountId: number): AdminRefusal {
  return new AdminRefusal(`${email} is no member of account ${accountId}`);
}
