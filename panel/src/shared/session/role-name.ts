import { useLingui } from '@lingui/react/macro';
import type { Role } from '../../../../platform/permissions.ts';

/** The name of a role as members read it. */
export function useRoleName(): (role: Role) => string {
  const { t } = useLingui();
  const names: Readonly<Record<Role, string>> = {
    owner: t`مالک`,
    admin: t`مدیر`,
    marketer: t`بازاریاب`,
    analyst: t`تحلیلگر`,
    viewer: t`بیننده`,
    approver: t`تأییدکننده`,
    finance: t`مالی`,
  };
  return (role) => names[role];
}
