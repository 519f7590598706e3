import type { Route } from '../account-api/http/route.ts';
import type { KeyCaller } from './auth/decide.ts';
import type { Services } from './services.ts';

/** A row of the management host's table. */
export type ManagementRoute = Route<Services, KeyCaller>;
