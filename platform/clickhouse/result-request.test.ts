import { expect, it } from 'vitest';
import { paramText, requestBytes } from './result-request.ts';

it('sends a statement as a form, its settings in the address, its user in a header', () => {
  const text = requestBytes(new URL('http://some%40one:p%3Ass@host:8123/'), {
    ...{ sql: 'SELECT {p0:String}', params: { p0: "it's" }, database: 'db', queryId: 'q-1' },
    ...{ application: 'app', settings: { max_execution_time: 5, log_comment: 'a b' } },
  }).toString();
  const [head = '', ...parts] = text.split('\r\n\r\n');
  expect(head).toContain(
    'POST /?database=db&query_id=q-1&max_execution_time=5&log_comment=a+b HTTP/1.1\r\n',
  );
  expect(head).toContain(
    `\r\nAuthorization: Basic ${Buffer.from('some@one:p:ss').toString('base64')}\r\n`,
  );
  const body = parts.join('\r\n\r\n');
  expect(head.endsWith(`\r\nContent-Length: ${Buffer.byteLength(body)}`)).toBe(true);
  expect(body).toContain('name="query"\r\n\r\nSELECT {p0:String}\r\n--');
  expect(body).toContain(`name="param_p0"\r\n\r\nit\\'s\r\n--`);
});

it.each([
  ['plain', 'plain'],
  ["a'b\\c\td\ne\rf", "a\\'b\\\\c\\td\\ne\\rf"],
  [-5, '-5'],
  [[1, 2], '[1,2]'],
  [[2n ** 64n - 1n], '[18446744073709551615]'],
  [['a', "b'"], "['a','b\\'']"],
  [[], '[]'],
])('writes the parameter %s as ClickHouse reads it', (value, text) => {
  expect(paramText(value)).toBe(text);
});
