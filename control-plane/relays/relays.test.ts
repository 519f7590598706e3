import { describe, expect, it } from 'vitest';
import { numericPathId } from '../../platform/http/path-id.ts';
import { destinationOf } from './destination.ts';

describe('the destination in the audit log', () => {
  it.each([
    ['https://hooks.example/in', 'https://hooks.example/in'],
    ['https://hooks.example', 'https://hooks.example'],
    ['https://hooks.example/', 'https://hooks.example/'],
    ['https://user:pass@hooks.example:8443/in?key=secret#x', 'https://hooks.example:8443/in'],
    ['ftp://user:pass@files.example/in', 'ftp://files.example/in'],
    ['http://user:pass@ bad/in?key=secret', 'http:// bad/in'],
    ['no url?key=secret', 'no url'],
  ])('of the URL %s is %s', (url, destination) => expect(destinationOf(url)).toBe(destination));
});

describe('numericPathId', () => {
  it.each([
    ['1', 1],
    ['9007199254740991', 9_007_199_254_740_991],
  ])('reads %s', (text, id) => expect(numericPathId(text)).toBe(id));
  it.each([
    undefined,
    '',
    '0',
    '-1',
    '01',
    '1.0',
    '1e3',
    'x',
    '9007199254740993',
    '99999999999999999999',
    '%31',
  ])('refuses %s', (text) => expect(numericPathId(text)).toBeUndefined());
});
