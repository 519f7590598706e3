import type { ChannelCommand, ChannelDevice, WebPushKeys } from '../../schemas/records.ts';
import { isLater, type CommandOrder } from './command-order.ts';

/** What a person can be reached by, and the last registration of it. */
export interface Address {
  account_id: number;
  channel: string;
  id: string;
  user_id: string;
  anonymous_id: string;
  device: ChannelDevice | null;
  web_push: WebPushKeys | null;
  active: boolean;
  /** Why it is not active; empty while it is. */
  reason: string;
}

/** What the last writer of one thing left. */
interface Register<T> {
  order: CommandOrder;
  value: T;
}

type Registration = Omit<Address, 'active' | 'reason'>;

const REGISTERS: ReadonlySet<string> = new Set([
  'device_registered',
  'web_push_subscribed',
  'messenger_linked',
]);

/** Commands that end an address, and the reason that remains. */
const ENDS: Readonly<Record<string, (command: ChannelCommand) => string>> = {
  device_unregistered: () => 'unregistered',
  web_push_unsubscribed: () => 'unsubscribed',
  messenger_unlinked: () => 'unlinked',
  address_deactivated: ({ reason }) => reason,
};

/**
 * The addresses that commands leave, in whatever order they are applied: each registration, each
 * end and each holder of a token is a register whose last writer counts. An address is active when
 * nothing ended it since its last registration and no other device has registered its token since.
 *
 * The reference for projections/addresses, which keeps the same registers in PostgreSQL.
 */
export class AddressBook {
  readonly #registrations = new Map<string, Register<Registration>>();
  /** By address; those of a chat also by the user whose it was, or by that user alone. */
  readonly #ends = new Map<string, Register<string>>();
  /** By token: the device that registered it last. */
  readonly #holders = new Map<string, Register<string>>();

  apply(command: ChannelCommand): void {
    const { account_id, channel, address_id: id, user_id, anonymous_id, kind } = command;
    const { device, web_push } = command;
    if (REGISTERS.has(kind))
      write(this.#registrations, keyOf([account_id, channel, id]), {
        order: command,
        value: { account_id, channel, id, user_id, anonymous_id, device, web_push },
      });
    if (kind === 'device_registered' && device)
      write(this.#holders, keyOf([account_id, device.push_token]), { order: command, value: id });
    const reasonOf = Object.hasOwn(ENDS, kind) ? ENDS[kind] : undefined;
    if (reasonOf) {
      // Only a chat is ended by somebody who is named: it stays when it is another user's.
      const user = kind === 'messenger_unlinked' ? user_id : '';
      const end = { order: command, value: reasonOf(command) };
      write(this.#ends, keyOf([account_id, channel, user, id]), end);
    }
  }

  /** Every address that was ever registered. */
  all(): Address[] {
    return [...this.#registrations.values()].map(({ order, value }) => {
      const reason = this.#endSince(order, value) ?? this.#movedSince(value) ?? '';
      return { ...value, active: reason === '', reason };
    });
  }

  /** The last end after a registration; its reason. */
  #endSince(
    order: CommandOrder,
    { account_id, channel, id, user_id }: Registration,
  ): string | undefined {
    const keys = [
      ['', id],
      [user_id, id],
      [user_id, ''],
    ] as const;
    let last: Register<string> | undefined;
    for (const [user, address] of keys) {
      const end = this.#ends.get(keyOf([account_id, channel, user, address]));
      if (end && isLater(end.order, last?.order ?? order)) last = end;
    }
    return last?.value;
  }

  #movedSince({ account_id, id, device }: Registration): string | undefined {
    if (!device) return undefined;
    const holder = this.#holders.get(keyOf([account_id, device.push_token]));
    return holder?.value === id ? undefined : 'token_moved';
  }
}

function write<T>(registers: Map<string, Register<T>>, key: string, next: Register<T>): void {
  const known = registers.get(key);
  if (!known || isLater(next.order, known.order)) registers.set(key, next);
}

function keyOf(parts: readonly (number | string)[]): string {
  return JSON.stringify(parts);
}
