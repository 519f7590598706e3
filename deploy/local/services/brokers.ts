import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../../../cli/command.ts';
import type { Home } from '../../../cli/stack/home.ts';
import type { OwnBroker, OwnServers } from '../../../cli/stack/stack-plan.ts';
import { kafkaCertificates } from './kafka-certificates.ts';

/** The numbers of brokers that a stack can have: a quorum of two is worse than one of one. */
export const BROKER_COUNTS = ['1', '3'] as const;

/** Names of the services by position: kafka, kafka-2, kafka-3. */
export function brokerName(index: number): string {
  return index === 0 ? 'kafka' : `kafka-${index + 1}`;
}

/** Names of all brokers that stacks may have. */
export const BROKER_NAMES = Array.from({ length: Number(BROKER_COUNTS.at(-1)) }, (_, index) =>
  brokerName(index),
);

/** The brokers that a stack runs, in the order of their node ids; none of an external cluster. */
export function ownBrokers({ kafka }: Pick<OwnServers, 'kafka'>): OwnBroker[] {
  return kafka ? [kafka, ...(kafka.peers ?? [])] : [];
}

/** Where a broker keeps its log. */
export function brokerFolder({ data }: Pick<Home, 'data'>, index: number): string {
  return join(data, brokerName(index));
}

/**
 * How many brokers a home has: those that it was made with, or the number that is wanted for a new
 * one; '' is no wish. Throws CommandError when the two differ: replicas and the quorum are made
 * once.
 */
export function brokerCount(
  home: Pick<Home, 'data' | 'dir'>,
  wanted: '' | (typeof BROKER_COUNTS)[number],
): number {
  const isNew = BROKER_NAMES.every(
    (_, index) => !existsSync(join(brokerFolder(home, index), 'meta.properties')),
  );
  if (isNew) return Number(wanted === '' ? '1' : wanted);
  // Certificates are made before the first log, and for several brokers only.
  const has = existsSync(kafkaCertificates(home).keystore) ? BROKER_NAMES.length : 1;
  if (wanted !== '' && Number(wanted) !== has)
    throw new CommandError(
      `${home.dir} was made with ${has} ${has === 1 ? 'broker' : 'brokers'} of Kafka, which cannot change: start it without --brokers and LOCAL_KAFKA_BROKERS, use another RAVAND_HOME, or delete its data with ./ravand reset`,
    );
  return has;
}
