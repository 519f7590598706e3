import { expect, it } from 'vitest';
import { writeZigzag } from '../../schemas/varint.ts';
import { holds, needleOf, postgresPattern, re2Pattern } from './needles.ts';

const inText = (name: string, text: string) => holds(Buffer.from(text), needleOf(name, true));
const inAvro = (name: string, value: string) =>
  holds(
    Buffer.concat([
      Buffer.from('x'),
      writeZigzag(Buffer.byteLength(value)),
      Buffer.from(`${value}y`),
    ]),
    needleOf(name, true),
  );

it('A name is found as a whole value only', () => {
  expect(inText('u1', '{"user_id":"u1"}')).toBe(true);
  expect(inText('u1', '(5,u1,7)')).toBe(true);
  expect(inText('u1', 'u1')).toBe(true);
  for (const other of ['u10', 'xu1', 'u1-2', 'u1@example.ir', 'a.u1'])
    expect(inText('u1', `{"user_id":"${other}"}`)).toBe(false);
  expect(inText('سارا', '{"user_id":"سارا"}')).toBe(true);
  expect(inText('سارا', '{"user_id":"ساراب"}')).toBe(false);
  expect(inText('سارا', '{"user_id":"\\u0633\\u0627\\u0631\\u0627"}')).toBe(true);
});

it('A name in Avro is found by its length, whatever bytes are beside it', () => {
  expect(inAvro('user-1', 'user-1')).toBe(true);
  expect(inAvro('user-1', 'user-10')).toBe(false);
});

it('A name that is a number counts in quotes only', () => {
  expect(inText('42', '{"user_id":"42","total":7}')).toBe(true);
  expect(inText('42', '{"user_id":"7","total":42}')).toBe(false);
  expect(inText('42', '(42,x)')).toBe(false);
});

it('Another text is found within others', () => {
  expect(holds(Buffer.from('mail to sara@example.ir.'), needleOf('sara@example.ir', false))).toBe(
    true,
  );
});

it('Every punctuation of a name stands for itself in a pattern', () => {
  const name = String.raw`a.b*c(d)[e]{f}|g^h$i?j+k\l"m'n`;
  for (const pattern of [postgresPattern, re2Pattern]) {
    const made = pattern(needleOf(name, false), name);
    expect(new RegExp(made).test(name)).toBe(true);
    expect(new RegExp(made).test(name.replace('.', 'x'))).toBe(false);
  }
});
