import { judgeAttempt, type AttemptResult } from '../../events/relays/retry.ts';
import { relayHeaders } from '../../events/relays/request-headers.ts';
import type { OutboundClient } from '../../platform/outbound/client.ts';
import { errorText, unsendable, type Delivery, type Outcome } from './delivery.ts';
import type { RelayMetrics } from './metrics.ts';
import type { Relay } from './relay.ts';

interface AttemptDeps {
  client: Pick<OutboundClient, 'post'>;
  metrics: Pick<RelayMetrics, 'attempted'>;
  now: () => number;
  random: () => number;
}

/**
 * Makes one attempt: signs, posts, classifies the answer. With a secret that cannot be decrypted
 * nothing is sent. Never rejects.
 */
export function attemptWith(
  deps: AttemptDeps,
): (relay: Relay, delivery: Delivery) => Promise<Outcome> {
  const { client, metrics, now, random } = deps;
  return async (relay, delivery) => {
    const { secret } = relay;
    if (secret.kind === 'sealed')
      return { kind: 'waiting', delay: 0, error: errorText(secret.problem) };
    const { payload } = delivery;
    const startedAt = now();
    let headers: Record<string, string>;
    try {
      headers = relayHeaders({
        payload,
        secret: secret.kind === 'opened' ? secret.secret : undefined,
        now: startedAt,
      });
    } catch (error) {
      return unsendable(error);
    }
    const result: AttemptResult = await client
      .post({ url: relay.url, headers, body: payload })
      .catch((error: unknown) => ({
        kind: 'failed',
        message: error instanceof Error ? error.message : String(error),
      }));
    const outcome = judgeAttempt(result, { attempts: delivery.attempts + 1, random: random() });
    metrics.attempted(outcome.kind, now() - startedAt);
    return outcome.kind === 'succeeded' ? outcome : { ...outcome, error: errorText(outcome.error) };
  };
}
