import type { TSchema } from 'typebox';
import type { Caller } from '../caller.ts';
import type { Permission } from '../../platform/permissions.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import type { Answer, DomainError } from '../errors/domain-error.ts';
import type { Features } from '../features.ts';
import type { Services } from '../services.ts';
import type { Admission } from './admission.ts';
import type { ApiRequest, PublicRequest } from './request.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Budget units (management 8.1): trivial, query, heavy. */
export type Cost = 1 | 5 | 25;

interface RouteFacts {
  method: Method;
  /** Parameters as `{name}`, as the specification writes them. */
  path: string;
  summary: string;
  /** All of them must be on, otherwise the route is not served. */
  features: readonly (keyof Features)[];
  /** Bytes that the body may have; undefined: the route reads none. */
  bodyLimit: number | undefined;
  /** `bytes`: the handler parses the body itself. */
  bodyAs?: 'bytes';
  /** Error for a body that is no JSON or too long; malformed_json unless the row names one. */
  malformed?: DomainError;
  /** Errors that this route writes as a flat string (management 7.1). */
  flat: readonly ErrorCode[];
  /** Its other errors, besides those of the guards. */
  coded: readonly ErrorCode[];
  /** How long the handler may take, ms. */
  timeout: number;
  /** Schemas with an $id are components of the OpenAPI document. */
  schemas: { request?: TSchema; response: TSchema | undefined; status: number };
  /** Query parameters and what they mean. */
  query?: Readonly<Record<string, string>>;
}

export interface OpenRoute<Ports = Services> extends RouteFacts {
  auth: 'none';
  handler(request: PublicRequest, services: Ports): Answer | Promise<Answer>;
}

/** A route of an account. `Ports`, `Sender`: of a host with more than the shared handlers need. */
export interface KeyRoute<Ports = Services, Sender = Caller> extends RouteFacts {
  auth: 'key';
  permission: Permission | undefined;
  cost: Cost;
  /** Behind the soft lock (management 3.1). */
  lock: boolean;
  /** Called once the guards are passed. */
  admit?(request: { caller: Caller; now: number }, services: Ports): Promise<Admission>;
  handler(request: ApiRequest<Sender>, services: Ports): Answer | Promise<Answer>;
}

export type Route<Ports = Services, Sender = Caller> = OpenRoute<Ports> | KeyRoute<Ports, Sender>;
