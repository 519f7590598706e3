import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChannelCommand } from '../../schemas/records.ts';
import { AddressBook } from './address-book.ts';
import { accepted, changes } from './testing/drawn-changes.ts';

/** What a person would expect who applies the commands in the order of their acceptance. */
function expected(commands: readonly ChannelCommand[]): Map<string, string | undefined> {
  const owner = new Map<string, string | undefined>();
  const tokenOf = new Map<string, string>();
  for (const { kind, channel, address_id: id, user_id, device } of commands) {
    const key = `${channel} ${id}`;
    if (kind === 'device_registered') {
      const token = device?.push_token ?? '';
      for (const [other, held] of tokenOf)
        if (held === token && other !== key) {
          owner.set(other, undefined);
          tokenOf.delete(other);
        }
      tokenOf.set(key, token);
    }
    if (kind.endsWith('registered') || kind === 'messenger_linked')
      owner.set(key, kind === 'device_unregistered' ? undefined : user_id);
    else if (kind === 'address_deactivated') owner.set(key, undefined);
    else
      for (const [chat, holder] of owner)
        if (chat.startsWith(`${channel} `) && holder === user_id && (id === '' || chat === key))
          owner.set(chat, undefined);
  }
  return owner;
}

function activeOwners(book: AddressBook): Map<string, string> {
  return new Map(
    book.all().flatMap((one) => (one.active ? [[`${one.channel} ${one.id}`, one.user_id]] : [])),
  );
}

function bookOf(commands: readonly ChannelCommand[]): AddressBook {
  const book = new AddressBook();
  for (const command of commands) book.apply(command);
  return book;
}

describe('the addresses of people', () => {
  it('belong to whoever registered them last, until something ends them', () => {
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 30 }), (sent) => {
        const commands = accepted(sent);
        const active = [...expected(commands)].filter(([, owner]) => owner !== undefined);
        expect(activeOwners(bookOf(commands))).toEqual(new Map(active));
      }),
      { numRuns: 2000 },
    );
  });

  it('are the same in whatever order the commands are read, and however often', () => {
    const orders = fc
      .array(changes, { maxLength: 20 })
      .map(accepted)
      .chain((commands) =>
        fc.record({
          commands: fc.constant(commands),
          read: fc.shuffledSubarray([...commands, ...commands], { minLength: 2 * commands.length }),
        }),
      );
    fc.assert(
      fc.property(orders, ({ commands, read }) => {
        const sorted = (book: AddressBook) =>
          book.all().sort((a, b) => (a.channel + a.id < b.channel + b.id ? -1 : 1));
        expect(sorted(bookOf(read))).toEqual(sorted(bookOf(commands)));
      }),
      { numRuns: 1000 },
    );
  });
});
