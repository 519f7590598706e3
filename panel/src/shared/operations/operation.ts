import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  Operation as Request,
  OperationKind,
  OperationState,
} from '../../../../platform/operations/operation.ts';
import type { OperationWait } from '../../../../platform/operations/operation-wait.ts';
import { api } from '../api/request.ts';

export type OperationRequest = Request;

/** What an operation found or did; its fields depend on its kind. */
export type OperationResult = Readonly<Record<string, unknown>>;

export interface Operation {
  id: number;
  kind: OperationKind;
  input: Readonly<Record<string, unknown>>;
  state: OperationState;
  stop_requested: boolean;
  requested_by: string | null;
  requested_at: string;
  started_at: string | null;
  finished_at: string | null;
  waits: readonly OperationWait[];
  waits_since: string | null;
  result: OperationResult | null;
  error: string;
}

const POLL_MS = 1000;

export function isOpen({ state }: Pick<Operation, 'state'>): boolean {
  return state === 'queued' || state === 'running';
}

export const operationsQuery = queryOptions({
  queryKey: ['operations'],
  queryFn: ({ signal }) => api<{ operations: Operation[] }>('/v1/operations', { signal }),
  refetchInterval: (query) => (query.state.data?.operations.some(isOpen) ? 2 * POLL_MS : 15_000),
});

const operationQuery = (id: number | undefined) =>
  queryOptions({
    queryKey: ['operation', id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => api<Operation>(`/v1/operations/${id}`, { signal }),
    refetchInterval: (query) => (query.state.data && !isOpen(query.state.data) ? false : POLL_MS),
  });

/** A number of a result; 0: it has none. */
export function numberOf(result: OperationResult | null | undefined, name: string): number {
  const value = result?.[name];
  return typeof value === 'number' ? value : 0;
}

export interface RunningOperation {
  start: (request: OperationRequest) => void;
  /** Undefined: not known yet. */
  operation: Operation | undefined;
  isStarted: boolean;
  error: unknown;
}

/** Asks for an operation and follows it until it has ended. */
export function useOperation(): RunningOperation {
  const queryClient = useQueryClient();
  const [id, setId] = useState<number>();
  const request = useMutation({
    mutationFn: (body: OperationRequest) =>
      api<{ id: number }>('/v1/operations', { method: 'POST', body }),
    onSuccess: async (made) => {
      setId(made.id);
      await queryClient.invalidateQueries({ queryKey: ['operations'] });
    },
  });
  const { data, error } = useQuery(operationQuery(id));
  return {
    start: (body) => request.mutate(body),
    operation: data,
    isStarted: id !== undefined || request.isPending,
    error: request.error ?? error,
  };
}
