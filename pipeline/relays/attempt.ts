import { judgeAttempt, type AttemptResult } from '../../events/relays/retry.ts';
import { relayHeaders } from '../../events/relays/request-headers.ts';
import type { OutboundClient } from '../../platform/outbound/client.ts';
import { errorText, type Delivery, type Outcome } from './delivery.ts';
import type { RelayMetrics } from './metrics.ts';
import type { Relay } from './relay.ts';

interface AttemptParts {
  client: Pick<OutboundClient, 'post'>;
  metrics: Pick<RelayMetrics, 'attempted'>;
  now: () => number;
  random: () => number;
}

/**
 * Makes one attempt: signs, posts, judges. With a secret that cannot be opened nothing is sent.
 * Never rejects.
 */
export function attemptWith(
  parts: AttemptParts,
): (relay: Relay, delivery: Delivery) => Promise<Outcome> {
  const { client, metrics, now, random } = parts;
  return async (relay, delivery) => {
    const { secret } = relay;
    if (secret.kind === 'sealed')
      return { kind: 'waiting', delay: 0, error: errorText(secret.problem) };
    const { payload } = delivery;
    const began = now();
    const headers = relayHeaders({
      payload,
      secret: secret.kind === 'opened' ? secret.secret : undefined,
      now: began,
    });
    const result: AttemptResult = await client
      .post({ url: relay.url, headers, body: payload })
      .catch((error: unknown) => ({
        kind: 'failed',
        message: error instanceof Error ? error.message : String(error),
      }));
    const outcome = judgeAttempt(result, { attempts: delivery.attempts + 1, random: random() });
    metrics.attempted(outcome.kind, now() - began);
    return outcome.kind === 'succeeded' ? outcome : { ...outcome, error: errorText(outcome.error) };
  };
}
