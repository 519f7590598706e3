import { AddressBook } from '../../../events/channels/address-book.ts';
import { isLater } from '../../../events/channels/command-order.ts';
import type { ChannelCommand } from '../../../schemas/records.ts';
import type { SentChange } from './registration-load.ts';

/** What the commands of an account leave, by the models of events/channels. */
export interface ChannelState {
  /** `channel id` → who has it, and why it is not active. */
  addresses: Record<string, { user: string; anonymous: string; reason: string }>;
  /** `user channel` → state */
  consents: Record<string, string>;
}

export interface LogDiscrepancies {
  /** Answered 200 and not in the log. */
  missing: string[];
  /** In the log, and nobody sent them. */
  unknown: string[];
  /** In the log under two orders. */
  doubled: string[];
  /** In the log with another content than was sent. */
  changed: string[];
  /** Accepted before a request that had been answered when they were sent. */
  disordered: string[];
}

/** Compares the log with what clients sent, by trace. */
export function compareWithSent(
  commands: readonly ChannelCommand[],
  sent: readonly SentChange[],
): LogDiscrepancies {
  const byTrace = new Map<string, ChannelCommand>();
  const doubled = new Set<string>();
  for (const command of commands) {
    const known = byTrace.get(command.trace);
    if (known && (isLater(known, command) || isLater(command, known))) doubled.add(command.trace);
    byTrace.set(command.trace, command);
  }
  const known = new Map(sent.map((one) => [one.trace, one]));
  return {
    missing: sent
      .filter(({ trace, answeredAt }) => answeredAt !== undefined && !byTrace.has(trace))
      .map(({ trace }) => trace),
    unknown: [...byTrace.keys()].filter((trace) => !known.has(trace)),
    doubled: [...doubled],
    changed: [...byTrace.values()]
      .filter((command) => {
        const one = known.get(command.trace);
        return one && contentOf(one.change) !== contentOf(command);
      })
      .map(({ trace }) => trace),
    disordered: disordered(sent, byTrace),
  };
}

function contentOf(change: SentChange['change'] | ChannelCommand): string {
  const { kind, channel, user_id, anonymous_id, address_id, device, web_push, consent } = change;
  return JSON.stringify([
    ...[kind, channel, user_id, anonymous_id, address_id],
    ...[device?.platform, device?.push_token, device?.push_provider],
    ...[web_push?.p256dh, web_push?.auth, consent?.state],
  ]);
}

/** A request that was sent after the answer to another one comes after it in the order. */
function disordered(
  sent: readonly SentChange[],
  byTrace: ReadonlyMap<string, ChannelCommand>,
): string[] {
  const answered = sent
    .flatMap(({ answeredAt, trace }) => {
      const command = byTrace.get(trace);
      return answeredAt === undefined || !command ? [] : [{ answeredAt, command }];
    })
    .sort((a, b) => a.answeredAt - b.answeredAt);
  const found: string[] = [];
  let next = 0;
  let last: ChannelCommand | undefined;
  for (const { trace, sentAt } of [...sent].sort((a, b) => a.sentAt - b.sentAt)) {
    for (let one = answered[next]; one && one.answeredAt < sentAt; one = answered[++next])
      if (!last || isLater(one.command, last)) last = one.command;
    const command = byTrace.get(trace);
    if (command && last && !isLater(command, last)) found.push(trace);
  }
  return found;
}

/** The fold of commands. */
export function foldCommands(commands: readonly ChannelCommand[]): ChannelState {
  const book = new AddressBook();
  const consents = new Map<string, ChannelCommand>();
  for (const command of commands) {
    book.apply(command);
    if (!command.consent) continue;
    const key = `${command.user_id} ${command.channel}`;
    const known = consents.get(key);
    if (!known || isLater(command, known)) consents.set(key, command);
  }
  return {
    addresses: Object.fromEntries(
      book
        .all()
        .map(({ channel, id, user_id, anonymous_id, reason }) => [
          `${channel} ${id}`,
          { user: user_id, anonymous: anonymous_id, reason },
        ]),
    ),
    consents: Object.fromEntries(
      [...consents].map(([key, { consent }]) => [key, consent?.state ?? '']),
    ),
  };
}
