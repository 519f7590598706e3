import type kafka from 'node-rdkafka';
import type { KafkaSettings } from './connection.ts';
import { tokensOf } from './tokens.ts';

type Client = Pick<kafka.KafkaConsumer | kafka.Producer, 'setOauthBearerToken'>;

/**
 * Gives a new client of librdkafka its token before it connects, and the later ones until it
 * disconnects; without OAUTHBEARER nothing. Rejects when no token can be had.
 */
export async function authenticate(client: Client, settings: KafkaSettings): Promise<void> {
  const tokens = tokensOf(settings);
  if (!tokens) return;
  client.setOauthBearerToken(await tokens.token());
  const following = tokens.follow((token) => {
    try {
      client.setOauthBearerToken(token);
    } catch {
      // disconnected meanwhile
    }
  });
  for (const event of ['disconnected', 'connection.failure'] as const)
    (client as kafka.KafkaConsumer).once(event, () => following.end());
}
