import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { identityCommandCodec, UnreadableRecord } from '../../schemas/codec.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { AliasFact } from './alias-fact.ts';
import { joinFacts, undoAlias } from './join.ts';
import type { IdentityMetrics } from './metrics.ts';
import { readAliases } from './read-aliases.ts';
import type { IdentityStore } from './store.ts';

export interface IdentityParts {
  store: IdentityStore;
  /** Brings ClickHouse up to what is stored of an account. */
  publish(accountId: number): Promise<void>;
  metrics: IdentityMetrics;
  log: Log;
  /** Aborts when the partition is taken away. */
  signal: AbortSignal;
}

/** Facts of one account that are taken in together. */
const MOST_FACTS = 2000;

/**
 * Takes the aliases of events.normalised in; commits once they, and what follows from them, are in
 * PostgreSQL and ClickHouse. Waits while either is away.
 */
export function aliasTask(parts: IdentityParts): PartitionTask {
  return taskOf(async (messages) => {
    const aliases = messages.flatMap((message) => readable(parts, message, readAliases) ?? []);
    for (const [accountId, own] of Map.groupBy(aliases, (alias) => alias.accountId)) {
      const facts = own.map(({ fact }) => fact);
      for (let from = 0; from < facts.length; from += MOST_FACTS)
        await join(parts, accountId, facts.slice(from, from + MOST_FACTS));
      await published(parts, accountId);
    }
  });
}

/** Takes the commands of identity.commands in, one after the other. */
export function commandTask(parts: IdentityParts): PartitionTask {
  return taskOf(async (messages) => {
    for (const message of messages) {
      const command = readable(parts, message, ({ value }) =>
        identityCommandCodec.decode(value ?? Buffer.alloc(0)),
      );
      if (!command) continue;
      const { account_id: accountId, previous_id: previousId, until } = command;
      if (command.command !== 'undo') {
        parts.metrics.unreadable();
        parts.log.error(
          { code: 'unknown_command', offset: message.offset, command: command.command },
          'a command is unknown to this version and is left out',
        );
        continue;
      }
      await waiting(parts, 'taking an alias back', () =>
        undoAlias(parts.store, accountId, { previousId, until }),
      );
      await published(parts, accountId);
      parts.metrics.undo();
      parts.log.info({ account_id: accountId, offset: message.offset }, 'an alias was taken back');
    }
  });
}

function taskOf(work: (messages: readonly ConsumedMessage[]) => Promise<void>): PartitionTask {
  return {
    from: undefined,
    async process(messages) {
      await work(messages);
      return (messages.at(-1)?.offset ?? -1) + 1;
    },
    release: () => Promise.resolve(),
  };
}

async function join(
  parts: IdentityParts,
  accountId: number,
  facts: readonly AliasFact[],
): Promise<void> {
  const outcomes = await waiting(parts, 'joining names', () =>
    joinFacts(parts.store, accountId, facts),
  );
  for (const outcome of outcomes.values()) parts.metrics.alias(outcome);
}

function published(parts: IdentityParts, accountId: number): Promise<void> {
  return waiting(parts, 'writing identities_flat', () => parts.publish(accountId));
}

function waiting<T>(
  { log, signal }: IdentityParts,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  return retryUntilAborted({ log, signal, code: 'identities_waiting', what }, work);
}

function readable<T>(
  { log, metrics }: IdentityParts,
  message: ConsumedMessage,
  read: (message: ConsumedMessage) => T,
): T | undefined {
  try {
    return read(message);
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    const { topic, partition, offset } = message;
    metrics.unreadable();
    log.warn(
      { code: error.code, topic, partition, offset },
      'a record cannot be read and joins nothing',
    );
    return undefined;
  }
}
