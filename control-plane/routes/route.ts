import type { Sealer } from '../../platform/sealing.ts';
import type { Permission } from '../../platform/permissions.ts';
import type { Answer } from '../errors.ts';
import type { WebhookConnectionStore } from '../webhook-connections/store.ts';
import type { RelayStore } from '../relays/store.ts';
import type { Caller } from '../sessions/authenticate.ts';

/** Dependencies of handlers. */
export interface Services {
  webhookConnections: WebhookConnectionStore;
  relays: RelayStore;
  /** Undefined: nothing can be sealed here. */
  sealer: Sealer | undefined;
  /** EMAIL_TRACK_BASE; empty: unset. */
  trackBase: string;
}

/** The part of a request that handlers see; never the reply. */
export interface MemberRequest {
  caller: Caller;
  params: Readonly<Record<string, string>>;
  /** The parsed JSON of a route with a body; undefined otherwise. */
  body: unknown;
}

/** A row of the control plane's table (ingest 4.9). */
export interface ControlRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Parameters as `{name}`, as the specification writes them. */
  path: string;
  permission: Permission;
  readsBody: boolean;
  handler(request: MemberRequest, services: Services): Answer | Promise<Answer>;
}
