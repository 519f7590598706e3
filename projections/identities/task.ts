import { batchTask, readOrSkip } from '../../platform/kafka/batch-task.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { identityCommandCodec } from '../../schemas/codec.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { AliasFact } from './alias-fact.ts';
import { applyAliases, applyDecision } from './apply-aliases.ts';
import { decisionOf, type Decision } from './decisions.ts';
import type { IdentityMetrics } from './metrics.ts';
import { readAliases } from './read-aliases.ts';
import type { IdentityStore } from './store.ts';

export interface IdentityDeps {
  store: IdentityStore;
  /** Writes what ClickHouse lacks of an account. */
  publish(accountId: number): Promise<void>;
  metrics: IdentityMetrics;
  log: Log;
  /** Aborts when the partition is revoked. */
  signal: AbortSignal;
}

const FACTS_PER_MERGE = 2000;
const DONE: Record<Decision['kind'], string> = {
  undo: 'an alias was undone',
  keep_apart: 'two distinct ids are kept apart',
  rejoin: 'aliases of two distinct ids count again',
};

/**
 * Applies the aliases of events.normalised. Commits once they and everything that follows from them
 * are in PostgreSQL and ClickHouse; retries while either is unavailable.
 */
export function aliasTask(deps: IdentityDeps): PartitionTask {
  let evidenceStored = (): Promise<void> => Promise.resolve();
  const task = batchTask(async (messages) => {
    const aliases = messages.flatMap((message) => decoded(deps, message, readAliases));
    if (aliases.length > 0) await evidenceStored();
    for (const [accountId, own] of Map.groupBy(aliases, (alias) => alias.accountId)) {
      const facts = own.map(({ fact }) => fact);
      for (let from = 0; from < facts.length; from += FACTS_PER_MERGE)
        await merge(deps, accountId, facts.slice(from, from + FACTS_PER_MERGE));
      await publish(deps, accountId);
    }
  });
  return { ...task, beforeEffects: (stored) => (evidenceStored = stored) };
}

/**
 * Executes the commands of identity.commands in order. An unknown one is of a newer release: the
 * partition waits.
 */
export function commandTask(deps: IdentityDeps): PartitionTask {
  return batchTask(async (messages) => {
    for (const message of messages) {
      const [command] = decoded(deps, message, ({ value }) => [
        identityCommandCodec.decode(value ?? Buffer.alloc(0)),
      ]);
      if (!command) continue;
      const { account_id: accountId } = command;
      const decision = decisionOf(command, message.offset);
      await retrying(deps, 'deciding about an alias', () =>
        applyDecision(deps.store, accountId, decision),
      );
      await publish(deps, accountId);
      deps.metrics.decision(decision.kind);
      deps.log.info({ account_id: accountId, offset: message.offset }, DONE[decision.kind]);
    }
  });
}

async function merge(
  deps: IdentityDeps,
  accountId: number,
  facts: readonly AliasFact[],
): Promise<void> {
  const outcomes = await retrying(deps, 'merging people', () =>
    applyAliases(deps.store, accountId, facts),
  );
  for (const outcome of outcomes.values()) deps.metrics.alias(outcome);
}

function publish(deps: IdentityDeps, accountId: number): Promise<void> {
  return retrying(deps, 'writing identities_flat', () => deps.publish(accountId));
}

function retrying<T>(
  { log, signal }: IdentityDeps,
  what: string,
  operation: () => Promise<T>,
): Promise<T> {
  return retryUntilAborted({ log, signal, code: 'identities_waiting', what }, operation);
}

function decoded<T>(
  { log, metrics }: IdentityDeps,
  message: ConsumedMessage,
  read: (message: ConsumedMessage) => T[],
): T[] {
  return readOrSkip(message, read, {
    log,
    warning: 'a record cannot be decoded; its aliases merge nothing',
    onUnreadable: () => metrics.unreadable(),
  });
}
