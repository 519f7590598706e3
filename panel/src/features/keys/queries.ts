import { queryOptions } from '@tanstack/react-query';
import type { Role } from '../../../../platform/permissions.ts';
import { api } from '../../shared/api/request.ts';

export interface WriteKey {
  id: number;
  app: string;
  environment: string;
  created_at: string;
  revoked_at: string | null;
}

export interface ManagementKey {
  id: number;
  role: Role;
  created_at: string;
  expires_at: string;
  revoked_at: string | null;
}

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: ({ signal }) =>
    api<{ write_keys: WriteKey[]; management_keys: ManagementKey[] }>('/v1/keys', { signal }),
});
