import type { Provider, ProviderMessage, Target } from '../providers/provider.ts';
import { inStep } from '../../platform/tracing/request-span.ts';
import { decideDelivery, type DeliveryStatus } from './decide-delivery.ts';

/** A target that will never work, and what the provider said. */
export interface DeadTarget {
  target: Target;
  reason: string;
}

/** What the calls for one message came to. */
export type Delivery = DeliveryStatus & {
  /** Calls of the provider. */
  calls: number;
  dead: readonly DeadTarget[];
};

const NONE: readonly DeadTarget[] = [];

/**
 * Hands one message to its targets, all at once: at most ten. It is `sent` when one was accepted.
 * Never rejects; ends when the provider's calls do.
 * @param messages one of each target; not empty
 */
export function deliver(
  provider: ProviderPort,
  messages: readonly ProviderMessage[],
  options: { signal: AbortSignal },
): Promise<Delivery> {
  const step = {
    name: `send ${provider.channel}`,
    kind: 'client',
    attributes: { 'ravand.provider': provider.name, 'ravand.targets': messages.length },
  } as const;
  return inStep(step, () => handOver(provider, messages, options));
}

type ProviderPort = Pick<Provider, 'channel' | 'name' | 'send'>;

async function handOver(
  provider: ProviderPort,
  messages: readonly ProviderMessage[],
  options: { signal: AbortSignal },
): Promise<Delivery> {
  const [first] = messages;
  // Nearly every message has one target.
  if (first && messages.length === 1) {
    const answer = await provider.send(first, options);
    const dead =
      answer.kind === 'dead_address' ? [{ target: first.to, reason: answer.reason }] : NONE;
    return { ...decideDelivery([answer]), calls: 1, dead };
  }
  const answers = await Promise.all(messages.map((message) => provider.send(message, options)));
  const dead = messages.flatMap(({ to }, at): DeadTarget[] => {
    const answer = answers[at];
    return answer?.kind === 'dead_address' ? [{ target: to, reason: answer.reason }] : [];
  });
  return { ...decideDelivery(answers), calls: messages.length, dead };
}
