import { createHash } from 'node:crypto';
import { isLater, type CommandOrder } from '../../events/channels/command-order.ts';
import type { EntriesRead } from '../../platform/inbox/inbox-entries.ts';
import type { ChannelCommand } from '../../schemas/records.ts';

/** Where a command was read. */
export interface CommandPlace {
  log_epoch: number;
  log_partition: number;
  log_offset: number;
}

export type PlacedCommand = ChannelCommand & CommandPlace;

/** What is known of a thing by the last command about it. */
interface Row extends CommandOrder, CommandPlace {
  account_id: number;
}

export interface AddressRow extends Row {
  channel: string;
  address_id: string;
  app_id: number;
  user_id: string;
  anonymous_id: string;
  token_hash: Buffer | null;
  /** JSON text; null of a chat. */
  details: string | null;
}

export interface EndRow extends Row {
  channel: string;
  /** Of an unlinked chat; empty otherwise. */
  user_id: string;
  /** Empty: all of the user on the channel. */
  address_id: string;
  reason: string;
}

export interface TokenRow extends Row {
  token_hash: Buffer;
  address_id: string;
}

export interface ConsentRow extends Row {
  user_id: string;
  channel: string;
  state: string;
}

export interface SuppressionRow extends Row {
  channel: string;
  address: string;
  suppressed: boolean;
  reason: string;
  user_id: string;
}

/** The rows that commands leave: of several about one thing, that of the last one. */
export class Registers {
  readonly addresses = new Map<string, AddressRow>();
  readonly ends = new Map<string, EndRow>();
  readonly tokens = new Map<string, TokenRow>();
  readonly consents = new Map<string, ConsentRow>();
  readonly suppressions = new Map<string, SuppressionRow>();
  /** Each counts once for its message, in the order of the log. */
  readonly softBounces = new Map<string, PlacedCommand>();
  /** Every change of a consent, in the order of the log. */
  readonly consentChanges: PlacedCommand[] = [];
  readonly inboxReads: PlacedCommand[] = [];

  constructor(commands: readonly PlacedCommand[]) {
    for (const command of commands) this.#add(command);
  }

  /** What users have read in their inboxes. */
  entriesRead(): EntriesRead[] {
    return this.inboxReads.map(({ account_id, user_id, inbox, received_at }) => ({
      ...{ accountId: account_id, userId: user_id, ids: inbox?.ids ?? [], at: received_at },
    }));
  }

  #add(command: PlacedCommand): void {
    switch (command.kind) {
      case 'device_registered':
      case 'web_push_subscribed':
      case 'messenger_linked':
        return this.#register(command);
      case 'device_unregistered':
        return this.#end(command, 'unregistered');
      case 'web_push_unsubscribed':
        return this.#end(command, 'unsubscribed');
      case 'messenger_unlinked':
        return this.#end(command, 'unlinked', command.user_id);
      case 'address_deactivated':
        return this.#end(command, command.reason);
      case 'consent_changed':
        return this.#consent(command);
      case 'address_suppressed':
      case 'address_restored':
        return this.#suppress(command);
      case 'soft_bounced': {
        const { account_id, channel, address_id, message_ref } = command;
        const key = keyOf([account_id, channel, address_id, message_ref.toString('hex')]);
        if (!this.softBounces.has(key)) this.softBounces.set(key, command);
        return;
      }
      case 'inbox_read':
        this.inboxReads.push(command);
    }
  }

  #register(command: PlacedCommand): void {
    const { account_id, app_id, channel, address_id, user_id, anonymous_id } = command;
    const details = command.device ?? command.web_push;
    const token_hash = command.device
      ? createHash('sha256').update(command.device.push_token).digest()
      : null;
    write(this.addresses, [account_id, channel, address_id], {
      ...{ account_id, channel, address_id, app_id, user_id, anonymous_id, token_hash },
      ...{ details: details && JSON.stringify(details), ...writtenBy(command) },
    });
    if (token_hash)
      write(this.tokens, [account_id, token_hash.toString('hex')], {
        ...{ account_id, token_hash, address_id, ...writtenBy(command) },
      });
  }

  #end(command: PlacedCommand, reason: string, user_id = ''): void {
    const { account_id, channel, address_id } = command;
    write(this.ends, [account_id, channel, user_id, address_id], {
      ...{ account_id, channel, user_id, address_id, reason, ...writtenBy(command) },
    });
  }

  #consent(command: PlacedCommand): void {
    const { account_id, user_id, channel, consent } = command;
    if (!consent) return;
    this.consentChanges.push(command);
    write(this.consents, [account_id, user_id, channel], {
      ...{ account_id, user_id, channel, state: consent.state, ...writtenBy(command) },
    });
  }

  #suppress(command: PlacedCommand): void {
    const { account_id, channel, address_id: address, user_id, reason, kind } = command;
    const suppressed = kind === 'address_suppressed';
    write(this.suppressions, [account_id, channel, address], {
      ...{ account_id, channel, address, suppressed, reason, user_id, ...writtenBy(command) },
    });
  }
}

function writtenBy(command: PlacedCommand): CommandOrder & CommandPlace {
  const { received_at, gateway, sequence, log_epoch, log_partition, log_offset } = command;
  return { received_at, gateway, sequence, log_epoch, log_partition, log_offset };
}

function write<T extends CommandOrder>(
  rows: Map<string, T>,
  key: readonly (number | string)[],
  next: T,
): void {
  const known = rows.get(keyOf(key));
  if (!known || isLater(next, known)) rows.set(keyOf(key), next);
}

function keyOf(parts: readonly (number | string)[]): string {
  return JSON.stringify(parts);
}
