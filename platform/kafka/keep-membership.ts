import { backoffDelay, delay } from '../backoff.ts';
import type { Log } from '../log.ts';
import { KafkaError } from './consumer-client.ts';

interface MembershipOptions {
  log: Log;
  topic: string;
  groupId: string;
  /** group.instance.id; empty: dynamic. */
  instanceId: string;
  closing: AbortSignal;
}

/** So many memberships may end within a minute; after one more the process ends. */
const MAX_ENDED = 3;
const WITHIN_MS = 60_000;

/** librdkafka gave its client up: only another one can join the group. */
export function isMembershipOver(error: unknown): error is KafkaError {
  return error instanceof KafkaError && error.fatal;
}

/**
 * Runs one membership after another. A broker that stalls for a session fences named members: a
 * member that joins a second time looks like another process of its name. With a process that has
 * the same name it happens again and again; then this rejects.
 * @param membership joins and consumes until `closing`; has released all when it rejects
 */
export async function keepMembership(
  { log, topic, groupId: group, instanceId, closing }: MembershipOptions,
  membership: () => Promise<void>,
): Promise<void> {
  let ended: number[] = [];
  for (;;) {
    try {
      await membership();
      return;
    } catch (error) {
      if (!isMembershipOver(error) || closing.aborted) throw error;
      const now = performance.now();
      ended = [...ended.filter((at) => now - at < WITHIN_MS), now];
      if (ended.length > MAX_ENDED) throw endedTooOften({ group, instanceId }, error);
      log.warn(
        { code: 'kafka_membership', topic, group },
        `the membership in ${group} has ended (${error.message}); joining again`,
      );
      const attempt = ended.length - 1;
      await delay(
        backoffDelay({ base: 200, cap: 2000, min: 100, attempt, random: Math.random() }),
        closing,
      );
    }
  }
}

function endedTooOften(
  { group, instanceId }: { group: string; instanceId: string },
  cause: KafkaError,
): Error {
  const advice =
    instanceId === ''
      ? 'check the brokers'
      : `does another process have the name ${instanceId}? KAFKA_INSTANCE_ID must be unique`;
  return new Error(
    `${MAX_ENDED + 1} memberships in ${group} have ended within a minute (${cause.message}): ${advice}`,
    { cause },
  );
}
