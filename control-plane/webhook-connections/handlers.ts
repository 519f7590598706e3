import { randomBytes } from 'node:crypto';
import { connectionPurpose, isWebhookSource } from '../../events/webhooks/sources.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf } from '../sessions/authenticate.ts';
import { readConnection, readEnabled, unknownSource } from './definition.ts';
import { describeConnection } from './view.ts';

const TOKEN_BYTES = 24;

/** GET /v1/integrations: the connections of the account. */
export async function listConnections(
  { caller }: MemberRequest,
  { webhookConnections, trackBase }: Services,
): Promise<Answer> {
  const rows = await webhookConnections.list(caller.account.id);
  return answer({ integrations: rows.map((row) => describeConnection(row, trackBase)) });
}

/** PUT /v1/integrations: the token is generated at the first save and kept (ingest 2.8). */
export async function saveConnection(
  { caller, body }: MemberRequest,
  { webhookConnections, sealer, trackBase }: Services,
): Promise<Answer> {
  const read = readConnection(body);
  if (typeof read === 'string') return refuse('invalid_request', { message: read });
  if (!sealer) return refuse('sealing_unavailable');
  const { source, label, secret } = read;
  const accountId = caller.account.id;
  const sealed =
    secret === '' ? undefined : sealer.seal(secret, connectionPurpose({ accountId, source }));
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const row = await webhookConnections.save({ ...actorOf(caller), source, label, token, sealed });
  return answer(describeConnection(row, trackBase));
}

/** POST /v1/integrations/{source}/enabled: applies from the next delivery. */
export async function setConnectionEnabled(
  { caller, params, body }: MemberRequest,
  { webhookConnections, trackBase }: Services,
): Promise<Answer> {
  const source = params['source'] ?? '';
  if (!isWebhookSource(source)) return refuse('invalid_request', { message: unknownSource() });
  const enabled = readEnabled(body);
  if (enabled === undefined)
    return refuse('invalid_request', {
      message: 'the body must be {"enabled": true} or {"enabled": false}',
    });
  const row = await webhookConnections.setEnabled({ ...actorOf(caller), source, enabled });
  return row
    ? answer(describeConnection(row, trackBase))
    : refuse('not_found', { message: `there is no connection of ${source} yet` });
}
