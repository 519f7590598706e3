import {
  MAX_RELAYS,
  parseRelay,
  relayPurpose,
  type RelayDefinition,
} from '../../events/relays/definition.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { numericPathId } from '../../platform/http/path-id.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf, type Caller } from '../sessions/authenticate.ts';
import type { RelayStore } from './store.ts';

/** GET /v1/relays: all relays of the account, oldest first. */
export async function listRelays({ caller }: MemberRequest, { relays }: Services): Promise<Answer> {
  return answer({ relays: await relays.list(caller.account.id) });
}

/** PUT /v1/relays: updates the relay with this id or name, or creates one; 200 with its id. */
export async function saveRelay(
  { caller, body }: MemberRequest,
  { relays, sealer }: Services,
): Promise<Answer> {
  const parsed = parseRelay(body);
  if (!parsed.ok) return refuse('invalid_request', { message: parsed.message });
  if (!sealer) return refuse('sealing_unavailable');
  const saving = { caller, relay: parsed.relay, relays, sealer };
  const first = await saveOnce(saving);
  // Another request created, renamed or deleted a relay of this name in between: decides again.
  const outcome = first === 'raced' ? await saveOnce(saving) : first;
  switch (outcome) {
    case 'unknown':
      return refuse('not_found', { message: 'there is no relay with this id' });
    case 'too_many':
      return refuse('invalid_request', {
        message: `an account has at most ${MAX_RELAYS} relays; change or delete one of them`,
      });
    case 'name_exists':
      return refuse('invalid_request', { message: 'another relay has this name' });
    case 'raced':
      return refuse('unavailable');
    default:
      return answer({ id: outcome });
  }
}

/** DELETE /v1/relays/{id}: 204; deletes its deliveries too. */
export async function removeRelay(
  { caller, params }: MemberRequest,
  { relays }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const isRemoved = await relays.remove({ ...actorOf(caller), id });
  return isRemoved ? answer(undefined, { status: 204 }) : refuse('not_found');
}

/** GET /v1/relays/{id}/deliveries: the newest hundred. */
export async function listDeliveries(
  { caller, params }: MemberRequest,
  { relays }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const deliveries = await relays.deliveries({ accountId: caller.account.id, id });
  return deliveries ? answer({ deliveries }) : refuse('not_found');
}

/** POST /v1/relays/{id}/retry: dead deliveries are pending again, with ten attempts. */
export async function retryDeliveries(
  { caller, params }: MemberRequest,
  { relays }: Services,
): Promise<Answer> {
  const id = numericPathId(params['id']);
  if (id === undefined) return refuse('bad_id');
  const requeued = await relays.retry({ ...actorOf(caller), id });
  return requeued === undefined ? refuse('not_found') : answer({ requeued });
}

async function saveOnce({
  caller,
  relay,
  relays,
  sealer,
}: {
  caller: Caller;
  relay: RelayDefinition;
  relays: RelayStore;
  sealer: Sealer;
}) {
  const accountId = caller.account.id;
  const resolved = await relays.resolveId({ accountId, id: relay.id, name: relay.name });
  if (!resolved) return 'unknown';
  const { name, url, events, filters, enabled, secret } = relay;
  // The secret is sealed for the id, so the id comes first; nothing is delivered unsigned in
  // between.
  const sealed =
    secret === '' ? undefined : sealer.seal(secret, relayPurpose({ accountId, id: resolved.id }));
  const saved = await relays.save({
    ...{ ...actorOf(caller), sealed, isKnown: resolved.isKnown },
    relay: { id: resolved.id, name, url, events, filters, enabled },
  });
  if (saved === 'saved') return resolved.id;
  if (saved === 'too_many') return saved;
  if (relay.id === undefined) return 'raced';
  return saved === 'name_exists' ? 'name_exists' : 'unknown';
}
