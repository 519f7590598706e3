import { expect, it } from 'vitest';
import { FirstRecords } from './first-records.ts';

interface Sent {
  topic: string;
  partition: number;
  id: string;
}

function given(refused: readonly string[] = []) {
  const produced: string[] = [];
  const firsts = new FirstRecords<Sent>(({ id }) => {
    if (refused.includes(id)) throw new Error('refused');
    produced.push(id);
  });
  const send = (id: string, partition = 0) => {
    const sent = { topic: 't', partition, id };
    firsts.send(sent);
    return sent;
  };
  const idsOf = (all: readonly Sent[]) => all.map(({ id }) => id);
  return { firsts, produced, send, idsOf };
}

it('records of a partition wait, in order, until its first one is acknowledged', () => {
  const { firsts, produced, send } = given();
  const first = send('a');
  send('b');
  send('c');
  send('other', 1);
  expect(produced).toEqual(['a', 'other']);
  expect(firsts.isWaiting).toBe(true);

  expect(firsts.reported(first, { isDelivered: true })).toEqual([]);
  send('d');

  expect(produced).toEqual(['a', 'other', 'b', 'c', 'd']);
  expect(firsts.isWaiting).toBe(false);
});

it('records that waited fail with the first one, and the next one is a first one again', () => {
  const { firsts, produced, send, idsOf } = given();
  const first = send('a');
  send('b');

  expect(idsOf(firsts.reported(first, { isDelivered: false }))).toEqual(['b']);
  send('c');
  send('d');

  expect(produced).toEqual(['a', 'c']);
});

it('a record that waited and is refused by the client takes the later ones with it', () => {
  const { firsts, produced, send, idsOf } = given(['c']);
  const first = send('a');
  for (const id of ['b', 'c', 'd']) send(id);

  expect(idsOf(firsts.reported(first, { isDelivered: true }))).toEqual(['c', 'd']);
  expect(produced).toEqual(['a', 'b']);
});

it('a first record that the client refuses leaves the partition as it was', () => {
  const { produced, send } = given(['a']);
  expect(() => send('a')).toThrow('refused');

  send('b');
  send('c');

  expect(produced).toEqual(['b']);
});

it('a partition without a record since the last renewal begins again', () => {
  const { firsts, produced, send } = given();
  firsts.reported(send('a'), { isDelivered: true });
  firsts.reported(send('busy', 1), { isDelivered: true });
  firsts.renew();
  send('busy again', 1);
  firsts.renew();
  expect(produced).toEqual(['a', 'busy', 'busy again']);

  send('b');
  send('c');
  send('busy third', 1);

  expect(produced).toEqual(['a', 'busy', 'busy again', 'b', 'busy third']);
});
