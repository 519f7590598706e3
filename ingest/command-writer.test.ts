import { describe, expect, it } from 'vitest';
import { channelChange } from '../events/channels/channel-change.ts';
import { isLater, type CommandOrder } from '../events/channels/command-order.ts';
import type { LogRecord } from './log-record.ts';
import { channelCommandCodec } from '../schemas/codec.ts';
import type { ChannelCommand } from '../schemas/records.ts';
import { CommandWriter } from './command-writer.ts';

function openWriter({ maxCounted }: { maxCounted?: number } = {}) {
  const published: LogRecord[] = [];
  const state = { isDurable: true };
  const writer = new CommandWriter({
    publish: (records) => {
      if (state.isDurable) published.push(...records);
      return Promise.resolve(state.isDurable ? [] : records);
    },
    gateway: 'g',
    ...(maxCounted === undefined ? {} : { maxCounted }),
  });
  const write = (accountId: number, user_id: string) =>
    writer.write(channelChange({ kind: 'messenger_linked', channel: 'bale', user_id }), {
      principal: { accountId, appId: 1, writeKeyId: 1 },
      ...{ source: 'sdk', receivedAt: 1000, trace: '' },
    });
  const commands = (): ChannelCommand[] =>
    published.map(({ value }) => channelCommandCodec.decode(value));
  return { write, commands, published, state };
}

it('a command that is durable on this machine only is named to its writer', async () => {
  const spooled: CommandOrder[] = [];
  const state = { isSpooled: true };
  const writer = new CommandWriter({
    publish: (records) => {
      if (state.isSpooled) for (const record of records) record.onSpooled?.();
      return Promise.resolve([]);
    },
    gateway: 'g',
  });
  const change = channelChange({ kind: 'messenger_linked', channel: 'bale', user_id: 'u' });
  const facts = { principal: { accountId: 1, appId: 1, writeKeyId: 1 }, source: 'sdk', trace: '' };
  const write = (receivedAt: number) =>
    writer.write(change, { ...facts, receivedAt }, (command) => spooled.push(command));
  await write(1000);
  state.isSpooled = false;
  await write(2000);
  state.isSpooled = true;
  // The clock of the machine went back: the order of commands does not.
  await write(500);
  expect(spooled).toMatchObject([
    { received_at: 1000, gateway: 'g', sequence: 0 },
    { received_at: 2000, gateway: 'g', sequence: 2 },
  ]);
});

describe('a gateway counts its commands', () => {
  it('by account and partition, with those that were not durable', async () => {
    const { write, commands, state } = openWriter();
    expect(await write(1, 'u')).toBe(true);
    state.isDurable = false;
    expect(await write(1, 'u')).toBe(false);
    state.isDurable = true;
    await write(1, 'u');
    await write(2, 'u');
    expect(
      commands().map((one) => [one.account_id, one.written_before, one.refused_before]),
    ).toEqual([
      [1, 0, 0],
      [1, 2, 1],
      [2, 0, 0],
    ]);
  });

  it('for a bounded number of accounts: then it counts anew under another name, in order', async () => {
    const { write, commands } = openWriter({ maxCounted: 2 });
    for (const account of [1, 2, 3, 1]) await write(account, 'u');
    const counted = commands().map((one) => [one.gateway, one.written_before]);
    expect(counted).toEqual([
      ['g', 0],
      ['g', 0],
      ['g.1', 0],
      ['g.1', 0],
    ]);
    for (const [at, command] of commands().entries()) {
      const before = commands()[at - 1];
      if (before) expect(isLater(command, before)).toBe(true);
    }
  });
});
