import { expect, test } from 'vitest';
import {
  eventNameOf,
  isEventType,
  isPlatformEvent,
  normaliseEventName,
  distinctIdOf,
} from './event-name.ts';

test.each([
  ['track', ' order_completed ', 'order_completed'],
  ['track', 'سفارش  تكميل شد', 'سفارش تکمیل شد'],
  ['track', 'Order Completed/ok', 'Order Completed/ok'],
  ['page', undefined, 'page_viewed'],
  ['page', '', 'page_viewed'],
  ['page', ' \u064b ', 'page_viewed'],
  ['page', 'home', 'home'],
  ['screen', null, 'screen_viewed'],
  ['screen', 'Basket', 'Basket'],
  ['identify', 'ignored', 'identify'],
  ['alias', 'ignored', 'alias'],
] as const)('%s named %j is stored as %j', (type, sent, stored) => {
  expect(eventNameOf(type, sent)).toBe(stored);
});

test('a name is at most 128 bytes', () => {
  expect(normaliseEventName('ن'.repeat(100))).toBe('ن'.repeat(64));
});

test('types are exact', () => {
  expect(['track', 'identify', 'page', 'screen', 'alias'].every(isEventType)).toBe(true);
  expect(['Track', 'track ', '', 'group', null, 1].some(isEventType)).toBe(false);
});

test('the person is the user_id, or else the anonymous_id', () => {
  expect(distinctIdOf({ user_id: 'u', anonymous_id: 'a' })).toBe('u');
  expect(distinctIdOf({ user_id: '', anonymous_id: 'a' })).toBe('a');
});

test('platform events are those of the workers, not the click that the SDK raises', () => {
  expect(
    ['message_sent', 'message_failed', 'message_withheld', 'message_opened'].every(isPlatformEvent),
  ).toBe(true);
  expect(isPlatformEvent('message_clicked')).toBe(false);
});
