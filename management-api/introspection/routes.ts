import Type from 'typebox';
import { permissions, roles } from '../auth/roles.ts';
import { TIMEOUT } from '../../account-api/http/limits.ts';
import type { ManagementRoute } from '../route.ts';
import { decideFeatures, LIMITS } from '../../account-api/features.ts';
import { getCapabilities, getStatus, getWhoami } from './handlers.ts';

const always = {
  method: 'GET',
  features: [],
  bodyLimit: undefined,
  flat: [],
  coded: [],
  timeout: TIMEOUT.most,
} as const;
const trivial = { ...always, auth: 'key', permission: undefined, cost: 1, lock: false } as const;

/** An object with the keys of `values`, all of one schema. */
function sameKeys<T extends Type.TSchema>(values: object, schema: T) {
  return Type.Object(Object.fromEntries(Object.keys(values).map((key) => [key, schema])));
}

const Status = Type.Object(
  { status: Type.Literal('ok'), service: Type.Literal('api'), version: Type.String() },
  { $id: 'Status' },
);
const Whoami = Type.Object(
  {
    tenant_id: Type.Integer(),
    api_key_id: Type.Integer(),
    role: Type.Enum([...roles]),
    permissions: Type.Array(Type.Enum([...permissions])),
    scoped: Type.Boolean(),
  },
  { $id: 'Whoami' },
);
const NO_FEATURES = {
  ...{ segments: false, analytics: false, ingest: false, asyncExports: false },
  ...{ campaigns: false, campaignRecurrence: false, campaignApproval: false },
  transactional: false,
};
const Capabilities = Type.Object(
  {
    version: Type.Literal('v1'),
    features: sameKeys(decideFeatures(NO_FEATURES), Type.Boolean()),
    limits: sameKeys(LIMITS, Type.Integer()),
  },
  { $id: 'Capabilities' },
);

export const introspectionRoutes: readonly ManagementRoute[] = [
  {
    ...always,
    path: '/v1/status',
    summary: 'Whether the host runs',
    auth: 'none',
    schemas: { response: Status, status: 200 },
    handler: getStatus,
  },
  {
    ...trivial,
    path: '/v1/whoami',
    summary: 'The key that asks, and what it may do',
    schemas: { response: Whoami, status: 200 },
    handler: getWhoami,
  },
  {
    ...trivial,
    path: '/v1/capabilities',
    summary: 'Features and limits of this installation',
    schemas: { response: Capabilities, status: 200 },
    handler: getCapabilities,
  },
];
