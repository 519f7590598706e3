import { expect, test } from 'vitest';
import { enteredUtm, NO_UTM, utmParameters } from './utm.ts';

test('only entered parameters are sent, without the spaces around them', () => {
  expect(enteredUtm(NO_UTM)).toBeUndefined();
  expect(enteredUtm({ ...NO_UTM, source: '  ' })).toBeUndefined();
  expect(enteredUtm({ source: ' ravand ', medium: '', name: 'یلدا' })).toEqual({
    source: 'ravand',
    name: 'یلدا',
  });
});

test('parameters are shown as links carry them', () => {
  expect(utmParameters({ source: 'ravand', name: 'yalda', term: 't' })).toEqual([
    'utm_source=ravand',
    'utm_campaign=yalda',
    'utm_term=t',
  ]);
});
