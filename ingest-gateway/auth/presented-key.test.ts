import { describe, expect, it } from 'vitest';
import { presentedKey } from './presented-key.ts';

describe('the write key of a request', () => {
  it.each([
    [
      'Authorization first',
      { authorization: 'Bearer a', 'x-service-key': 'b' },
      'write_key=c',
      'a',
    ],
    ['then X-Service-Key', { 'x-service-key': 'b' }, 'write_key=c', 'b'],
    ['then the query', {}, 'x=1&write_key=c', 'c'],
    ['another scheme falls through', { authorization: 'Basic a', 'x-service-key': 'b' }, '', 'b'],
    ['a lower-case scheme falls through', { authorization: 'bearer a' }, 'write_key=c', 'c'],
    ['one space is stripped, no more', { authorization: 'Bearer  a' }, '', ' a'],
    [
      'without a key behind it the scheme falls through',
      { authorization: 'Bearer ' },
      'write_key=c',
      'c',
    ],
    ['an empty header falls through', { 'x-service-key': '' }, 'write_key=c', 'c'],
    ['the query is decoded', {}, 'write_key=wk%5Fsvc_a', 'wk_svc_a'],
    ['nowhere', {}, '', undefined],
    ['an empty parameter', {}, 'write_key=', undefined],
    ['a query that cannot be decoded', {}, 'write_key=%zz', '%zz'],
  ])('%s', (_, headers, query, expected) => expect(presentedKey(headers, query)).toBe(expected));
});
