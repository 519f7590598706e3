import { describe, expect, it } from 'vitest';
import { readConsumerGroups, writeGroupIds } from './group-describe.ts';

const text = (value: string) => Buffer.concat([Buffer.of(value.length + 1), Buffer.from(value)]);
const NULL = Buffer.of(0);
const TAGS = Buffer.of(0);
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const assignment = (topic: string, partitions: number[]) =>
  Buffer.concat([
    ...[Buffer.of(2), Buffer.alloc(16), text(topic), Buffer.of(partitions.length + 1)],
    ...[...partitions.map(int32), TAGS, TAGS],
  ]);
const member = (clientId: string, partitions: number[]) =>
  Buffer.concat([
    ...[text('member id'), NULL, NULL, int32(3), text(clientId), text('/127.0.0.1')],
    ...[Buffer.of(2), text('t'), NULL, assignment('t', partitions), assignment('t', [0]), TAGS],
  ]);
const group = (error: number, name: string, members: Buffer[]) =>
  Buffer.concat([
    ...[Buffer.of(0, error), error === 0 ? NULL : text('why'), text(name), text('Stable')],
    ...[int32(1), int32(1), text('uniform'), Buffer.of(members.length + 1), ...members],
    ...[int32(0), TAGS],
  ]);
const answer = (...groups: Buffer[]) =>
  Buffer.concat([TAGS, int32(0), Buffer.of(groups.length + 1), ...groups, TAGS]);

describe('the description of groups of the newer protocol', () => {
  it('has the clients of a group with their partitions', () => {
    const bytes = answer(group(0, 'g', [member('a', [1, 300]), member('b', [])]));
    expect(readConsumerGroups(bytes)).toEqual([
      {
        group: 'g',
        members: [
          { clientId: 'a', clientHost: '/127.0.0.1', partitions: new Map([['t', [1, 300]]]) },
          { clientId: 'b', clientHost: '/127.0.0.1', partitions: new Map([['t', []]]) },
        ],
      },
    ]);
  });

  it('has no members for a group that does not exist, and is an error for any other answer', () => {
    expect(readConsumerGroups(answer(group(69, 'g', [])))).toEqual([{ group: 'g', members: [] }]);
    expect(() => readConsumerGroups(answer(group(30, 'g', [])))).toThrow(
      'Kafka does not describe the group g: why',
    );
  });

  it('is asked for with the names of the groups', () => {
    expect(writeGroupIds(['ab'])).toEqual(
      Buffer.concat([TAGS, Buffer.of(2), text('ab'), Buffer.of(0), TAGS]),
    );
  });
});
