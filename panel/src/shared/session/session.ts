import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import type { Permission, Role } from '../../../../platform/permissions.ts';
import { request } from '../api/request.ts';

export interface AccountOfMember {
  id: number;
  name: string;
  role: Role;
}

/** The answer of GET and POST /api/session for somebody who is signed in. */
export interface Session {
  member: { id: number; email: string };
  account: { id: number; name: string };
  role: Role;
  permissions: readonly Permission[];
  /** Looks after the installation: may replay and rebuild. */
  is_operator: boolean;
  accounts: readonly AccountOfMember[];
}

/** Who is signed in; null: nobody. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: Infinity,
  queryFn: async ({ signal }): Promise<Session | null> => {
    const headers = { 'accept-session': 'optional' };
    const answer = await request<Session | { member: null }>('/api/session', { signal, headers });
    return answer.member === null ? null : answer;
  },
});

/** The session of a page that only members see. */
export function useSession(): Session {
  const { data } = useSuspenseQuery(sessionQuery);
  if (!data) throw new Error('a page of members was rendered without a session');
  return data;
}

/** Whether the member's role has a permission. */
export function useMay(): (permission: Permission) => boolean {
  const { permissions } = useSession();
  return (permission) => permissions.includes(permission);
}
