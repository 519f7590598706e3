import type { DomainError } from '../errors/domain-error.ts';

/** What a route says about a request before its body is read. */
export interface Admission {
  /** Of the answer, whatever that is. */
  headers?: Readonly<Record<string, string>>;
  /** The request is refused. */
  error?: DomainError;
}
