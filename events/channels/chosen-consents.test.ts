import { expect, it } from 'vitest';
import { chosenConsents, type ConsentState } from './chosen-consents.ts';

const ON = 'subscribed';
const OFF = 'unsubscribed';

it.each<[title: string, now: ConsentState, shown: ConsentState, checked: boolean, to?: string]>([
  ['nothing, when the person left it checked', ON, ON, true],
  ['nothing, when the person left it unchecked', OFF, OFF, false],
  ['an unsubscription, when the person unchecked it', ON, ON, false, OFF],
  ['a subscription, when the person checked it', OFF, OFF, true, ON],
  ['nothing, when an old page shows it checked still', OFF, ON, true],
  ['an unsubscription, when the person unchecked it on an old page', OFF, ON, false, OFF],
  ['an unsubscription, when an old page shows it unchecked still', ON, OFF, false, OFF],
  ['a subscription, when the person checked it on an old page', ON, OFF, true, ON],
])('a channel of a form is %s', (_, now, shown, checked, to) => {
  const changes = chosenConsents(new Map([['sms', now]]), {
    shown: new Map([['sms', shown]]),
    checked: new Set(checked ? (['sms'] as const) : []),
  });
  expect([...changes]).toEqual(to === undefined ? [] : [['sms', to]]);
});

it('a channel that the account does not have, or that the page did not show, is not changed', () => {
  const changes = chosenConsents(new Map([['email', ON]]), {
    shown: new Map([['sms', OFF]]),
    checked: new Set(['sms']),
  });
  expect([...changes]).toEqual([]);
});
