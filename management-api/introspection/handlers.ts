import { answer, type Answer } from '../../account-api/errors/domain-error.ts';
import type { ApiRequest, PublicRequest } from '../../account-api/http/request.ts';
import type { KeyCaller } from '../auth/decide.ts';
import type { Services } from '../services.ts';
import { LIMITS } from '../../account-api/features.ts';

/** GET /v1/status (management 2.1). Reads no store. */
export function getStatus(request: PublicRequest, services: Services): Answer {
  const headers = {
    'x-server-time': new Date(request.now).toISOString(),
    'cache-control': 'no-store, no-cache, must-revalidate',
  };
  return answer({ status: 'ok', service: 'api', version: services.version }, { headers });
}

/** GET /v1/whoami (management 2.2). */
export function getWhoami({ caller }: ApiRequest<KeyCaller>): Answer {
  return answer({
    tenant_id: caller.accountId,
    api_key_id: caller.keyId,
    role: caller.role,
    permissions: caller.permissions,
    scoped: false,
  });
}

/** GET /v1/capabilities (management 2.3). */
export function getCapabilities(_request: ApiRequest, services: Services): Answer {
  return answer({ version: 'v1', features: services.features, limits: LIMITS });
}
