import { describe, expect, it } from 'vitest';
import { channelChange } from '../../events/channels/channel-change.ts';
import { channelCommandCodec } from '../../schemas/codec.ts';
import { commandLines, commandOf, commandsJson } from './commands.ts';

const AT = Date.UTC(2026, 10, 21, 9);
const value = channelCommandCodec.encode({
  ...channelChange({ kind: 'device_registered', channel: 'push', user_id: 'u', address_id: 'd' }),
  ...{ account_id: 7, app_id: 1, write_key_id: 1, received_at: AT, gateway: 'g', sequence: 1 },
  ...{ written_before: 0, refused_before: 0 },
  ...{ trace: 'abcdef0123456789', source: 'sdk' },
});
const record = { value, partition: 3, offset: 12 };
const wanted = {
  ...{ traces: ['abcdef0123456789'], accountId: 7 },
  applied: (_: number, offset: number) => offset < 12,
};

describe('a change of a channel', () => {
  it('is found by the trace of its request, and says whether it is applied', () => {
    const found = commandOf(record, wanted);
    expect(found).toMatchObject({ kind: 'device_registered', position: '3/12', isApplied: false });
    expect(commandOf({ ...record, offset: 11 }, wanted)?.isApplied).toBe(true);
    const commands = found ? [found] : [];
    expect(commandLines({ commands })[2]).toMatch(
      /^7 +device_registered +push +2026-11-21T09:00:00Z +3\/12 +waits for addresses-sink/,
    );
    expect(commandsJson({ commands })).toEqual([
      {
        ...{ account_id: 7, kind: 'device_registered', channel: 'push', position: '3/12' },
        ...{ received_at: '2026-11-21T09:00:00.000Z', applied: false },
      },
    ]);
  });

  it('is not of another trace or another account', () => {
    expect(commandOf(record, { ...wanted, traces: ['0123456789abcdef'] })).toBeUndefined();
    expect(commandOf(record, { ...wanted, traces: ['abcdef01'] })).toBeUndefined();
    expect(commandOf(record, { ...wanted, accountId: 8 })).toBeUndefined();
    expect(
      commandOf({ ...record, value: Buffer.from('abcdef0123456789') }, wanted),
    ).toBeUndefined();
  });
});
