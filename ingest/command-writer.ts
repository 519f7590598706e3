import type { ChannelChange } from '../events/channels/channel-change.ts';
import type { CommandOrder } from '../events/channels/command-order.ts';
import { partitionOf } from '../events/partition.ts';
import { truncateBytes } from '../events/bytes.ts';
import { MAX_USER_AGENT_BYTES } from '../events/user-agent.ts';
import type { Principal } from './account.ts';
import type { LogRecord } from './log-record.ts';
import { currentSpan } from '../platform/tracing/request-span.ts';
import { traceCommand } from './trace-publish.ts';
import { channelCommandCodec } from '../schemas/codec.ts';
import type { ChannelCommand } from '../schemas/records.ts';
import { CHANNEL_PARTITIONS, TOPIC } from '../schemas/topology.ts';

export interface CommandWriterPorts {
  /** Resolves with the records that are not durable. */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]>;
  /** Random id of this process. */
  gateway: string;
  /** Accounts and partitions whose commands are counted; 100,000 by default. */
  maxCounted?: number;
}

/** What the log keeps of the request that carried a change. */
export interface ChangeFacts {
  principal: Principal;
  /** `sdk`, `page`, `bounce`, `provider` or `operator`. */
  source: string;
  /** ms since the epoch */
  receivedAt: number;
  trace: string;
}

/** Called when a command is durable on this machine only: it comes into the log later. */
export type OnSpooled = (command: CommandOrder) => void;

/** Commands of an account in a partition. */
interface Counted {
  written: number;
  refused: number;
}

const MAX_COUNTED = 100_000;

/**
 * Makes changes of channels durable, on the terms of events: acknowledged by Kafka or fsynced in
 * the spool. The last one accepted counts (events/channels/command-order.ts), so their order is
 * that of acceptance, whatever the clock of the machine does. Each says how many the gateway has
 * written before, so that a missing one is noticed (projections/addresses/books.ts).
 */
export class CommandWriter {
  readonly #ports: CommandWriterPorts;
  #counted = new Map<string, Counted>();
  /** How often the counts began anew. */
  #turns = 0;
  #sequence = 0;
  #last = 0;

  constructor(ports: CommandWriterPorts) {
    this.#ports = ports;
  }

  /** False when the change is not durable: the client is answered 503 and sends it again. */
  async write(change: ChannelChange, facts: ChangeFacts, onSpooled?: OnSpooled): Promise<boolean> {
    const { principal } = facts;
    const { accountId } = principal;
    const owner = change.user_id || change.anonymous_id || change.address_id;
    const place = { accountId, distinctId: owner, partitions: CHANNEL_PARTITIONS };
    const partition = partitionOf(place);
    const counted = this.#countedOf(accountId, partition);
    this.#last = Math.max(this.#last, facts.receivedAt);
    const command: ChannelCommand = {
      ...change,
      consent: change.consent && {
        ...change.consent,
        user_agent: truncateBytes(change.consent.user_agent, MAX_USER_AGENT_BYTES),
      },
      ...{ account_id: accountId, app_id: principal.appId, write_key_id: principal.writeKeyId },
      ...{ received_at: this.#last, gateway: this.#gateway, sequence: this.#sequence++ },
      ...{ written_before: counted.written++, refused_before: counted.refused },
      ...{ trace: facts.trace, source: facts.source },
    };
    const record: LogRecord = {
      topic: TOPIC.channelCommands,
      partition,
      key: null,
      value: channelCommandCodec.encode(command),
      accountId,
      events: 0,
      ...(onSpooled ? { onSpooled: () => onSpooled(command) } : {}),
    };
    const request = currentSpan();
    const publishing = request && traceCommand(request, record);
    const isDurable = (await this.#ports.publish([record])).length === 0;
    publishing?.end({}, isDurable ? undefined : 'the command is not durable');
    if (!isDurable) counted.refused++;
    return isDurable;
  }

  /** Another name for each turn: its counts begin at 0, and its commands come after the others. */
  get #gateway(): string {
    const { gateway } = this.#ports;
    return this.#turns === 0 ? gateway : `${gateway}.${this.#turns}`;
  }

  #countedOf(accountId: number, partition: number): Counted {
    const key = `${accountId} ${partition}`;
    const known = this.#counted.get(key);
    if (known) return known;
    if (this.#counted.size >= (this.#ports.maxCounted ?? MAX_COUNTED)) {
      this.#counted = new Map();
      this.#turns++;
      this.#last++;
    }
    const counted = { written: 0, refused: 0 };
    this.#counted.set(key, counted);
    return counted;
  }
}
