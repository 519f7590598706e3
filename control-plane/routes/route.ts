import type { Sealer } from '../../platform/sealing.ts';
import type { Permission } from '../../platform/permissions.ts';
import type { Answer } from '../errors.ts';
import type { IntegrationStore } from '../integrations/store.ts';
import type { RelayStore } from '../relays/store.ts';
import type { Caller } from '../sessions/authenticate.ts';

/** What handlers work with. */
export interface Services {
  integrations: IntegrationStore;
  relays: RelayStore;
  /** Undefined: nothing can be sealed here. */
  sealer: Sealer | undefined;
  /** EMAIL_TRACK_BASE; empty: unset. */
  trackBase: string;
}

/** What every handler gets to see of a request; never the reply. */
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
