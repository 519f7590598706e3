import { describe, expect, it } from 'vitest';
import { CommandWriter } from '../../ingest/command-writer.ts';
import type { LogRecord } from '../../ingest/log-record.ts';
import { channelCommandCodec } from '../../schemas/codec.ts';
import type { ProviderAnswer, ProviderMessage, Target } from '../providers/provider.ts';
import { deliver } from './deliver.ts';
import { reportDeadAddresses } from './report-dead-addresses.ts';

const accepted = (providerMessageId = 'x'): ProviderAnswer => ({
  kind: 'accepted',
  providerMessageId,
});
const other = <K extends Exclude<ProviderAnswer['kind'], 'accepted'>>(kind: K, reason = 'r') => ({
  ...{ kind, reason, detail: `${reason} in detail` },
});
const retry = (afterMs?: number): ProviderAnswer => ({
  ...other('retry', 'busy'),
  ...(afterMs === undefined ? {} : { afterMs }),
});

const CONTENT = { subject: '', title: '', text: 't', html: '', url: '', data: {} };
const target = (id: string): Target => ({
  ...{ kind: 'device', deviceId: id, provider: 'fcm', token: `token of ${id}` },
});
const messagesTo = (...targets: Target[]): ProviderMessage[] =>
  targets.map((to) => ({ messageId: 'm', to, content: CONTENT, expiresAt: 0 }));

async function deliverTo(answers: readonly ProviderAnswer[]) {
  const left = [...answers];
  const send = () => Promise.resolve(left.shift() ?? accepted());
  const provider = { channel: 'push', name: 'fcm', send } as const;
  const messages = messagesTo(...answers.map((_, at) => target(`d${at}`)));
  return deliver(provider, messages, { signal: new AbortController().signal });
}

describe('a message to the devices of a person', () => {
  it.each<[string, ProviderAnswer[], object]>([
    [
      'sent when one was accepted',
      [other('rejected'), accepted('id'), retry()],
      { status: 'sent', providerMessageId: 'id' },
    ],
    [
      'sent although another call may have been lost',
      [other('unknown'), accepted('id')],
      { status: 'sent' },
    ],
    [
      'unknown when a call may have been accepted',
      [retry(), other('unknown', 'lost'), other('broken')],
      { status: 'unknown', reason: 'lost' },
    ],
    [
      'broken when the sender is refused',
      [retry(), other('broken', 'credentials')],
      { status: 'broken', reason: 'credentials' },
    ],
    [
      'tried again when any call can be',
      [other('rejected'), retry(), other('dead_address')],
      { status: 'retry', reason: 'busy', afterMs: undefined },
    ],
    [
      'tried again after the longest wait',
      [retry(50), retry(), retry(900)],
      { status: 'retry', afterMs: 900 },
    ],
    [
      'failed when every address is dead',
      [other('dead_address'), other('dead_address')],
      { status: 'failed', reason: 'dead_address' },
    ],
    [
      'failed when it was rejected',
      [other('dead_address'), other('rejected', 'blocked')],
      { status: 'failed', reason: 'rejected_by_provider', detail: 'blocked in detail' },
    ],
    [
      'failed with a reason that is known',
      [other('rejected', 'too_large')],
      { status: 'failed', reason: 'too_large' },
    ],
    [
      'failed with no name of a property as its reason',
      [other('rejected', 'toString')],
      { status: 'failed', reason: 'rejected_by_provider' },
    ],
  ])('is %s', async (_, answers, expected) => {
    expect(await deliverTo(answers)).toMatchObject({ ...expected, calls: answers.length });
  });

  it('names the addresses that are dead, whatever became of the message', async () => {
    const { status, dead } = await deliverTo([
      ...[other('dead_address', 'unregistered'), accepted(), other('dead_address', 'expired')],
    ]);
    expect([status, dead]).toEqual([
      'sent',
      [
        { target: target('d0'), reason: 'unregistered' },
        { target: target('d2'), reason: 'expired' },
      ],
    ]);
  });
});

describe('dead addresses', () => {
  const of = { accountId: 3, userId: 'u', calledAt: 5000 };
  const write = async (
    channel: 'email' | 'push',
    targets: readonly Target[],
    { isDurable = true } = {},
  ) => {
    const published: LogRecord[] = [];
    const writer = new CommandWriter({
      publish: (records) => {
        published.push(...records);
        return Promise.resolve(isDurable ? [] : records);
      },
      gateway: 'dispatcher',
    });
    const dead = targets.map((one) => ({ target: one, reason: 'unregistered' }));
    const lost = await reportDeadAddresses(writer, { ...of, channel, dead });
    return { lost, commands: published.map(({ value }) => channelCommandCodec.decode(value)) };
  };

  it('of devices are deactivated by commands with the time of the call', async () => {
    const { lost, commands } = await write('push', [target('d1'), target('d2')]);
    expect(lost).toBe(0);
    expect(commands).toMatchObject([
      {
        ...{ kind: 'address_deactivated', channel: 'push', address_id: 'd1', user_id: 'u' },
        ...{ source: 'provider', reason: 'unregistered', received_at: 5000, account_id: 3 },
      },
      { address_id: 'd2' },
    ]);
  });

  it('of e-mail are suppressed', async () => {
    const { commands } = await write('email', [{ kind: 'email', address: 'a@b.ir' }]);
    expect(commands).toMatchObject([{ kind: 'address_suppressed', address_id: 'a@b.ir' }]);
  });

  it('that could not be reported are counted', async () => {
    const { lost } = await write('push', [target('d1'), target('d2')], { isDurable: false });
    expect(lost).toBe(2);
  });
});
